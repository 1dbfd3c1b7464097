"""The operator's page: what other policies would have done, or what a run did, in one file.

`study` says what is studied, `scenarios` simulate it, `facts` are the figures, in JSON's types; `page` shows
them and nothing else, so the page says the same as ``--json``. `live_run` has the facts of a journal.
"""
