"""Print where a Chromium is, for the tests of the documentation site.

`--install` installs Debian's when there is none and this runs as root beside apt-get; otherwise it says what to do.
Another browser of that family can be named in the variable CHROMIUM.
"""
import argparse, os, shutil, subprocess

NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable',
         '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome']
ADVICE = ('No Chromium was found, so the documentation site will not be tested in a browser. '
          'On Debian or Ubuntu: apt-get install chromium. Elsewhere: install Chrome, or name a browser in CHROMIUM.')

def find():
    "The path of a browser, or None."
    return next(filter(None, map(shutil.which, filter(None, [os.environ.get('CHROMIUM'), *NAMES]))), None)

def install():
    "Install Debian's Chromium, if that is possible here."
    if not shutil.which('apt-get') or os.geteuid(): return
    print('Installing Chromium, to test the documentation site', flush=True)
    env = {**os.environ, 'DEBIAN_FRONTEND': 'noninteractive'}
    for command in ['apt-get', '-q', 'update'], ['apt-get', '-q', 'install', '-y', '--no-install-recommends',
                                                 'chromium']:
        ran = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        if ran.returncode: print(f'{" ".join(command)} failed:\n{ran.stdout}')

if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--install', action='store_true', help='try to install one if there is none')
    if parser.parse_args().install and not find(): install()
    print(find() or ADVICE)
