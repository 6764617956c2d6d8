// Among pages that the search finds equally well, those of the menu come first, and of these the ones with few words in their title.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, title, , , score]) => {
    const shown = MENU.some(groups => groups.some(([, pages]) => pages.some(([name]) => name === page)));
    return score + (shown ? 3 : 0) - (page.endsWith('/claims') ? 3 : 0) + 2/title.split(' ').length;
  },
};
