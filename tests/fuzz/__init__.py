"""Bad inputs for every estimator of the registry: each must be met by an answer or by one sentence.

`make test-fuzz` runs them all, `tests/fuzz/test_fuzz.py` a part of them. A case is an estimator and a kind of
bad input, both named, so that a process that dies or hangs says which one it was:

- `tables`: tables, targets and weights to fit;
- `values`: values of constructor parameters;
- `judge`: what counts as an answer and as a sentence;
- `cases`: which kinds meet which estimators;
- `worker`: a process that tries cases one after the other;
- `runner`: starts the workers, and starts them again after a crash or an endless loop;
- `known`: cases that are known to fail, which must be none.
"""
