"The parts of tools/build_docs.py: what is read from notebooks, and how it becomes pages."
