"""The mathematics of speculative decoding: tensors in, tensors out. Knows no configuration, no events, no text.

law.py        logits -> the law tokens are drawn from (penalties, temperature, filters), the same for target and draft
accept.py     the accept test at temperature > 0: laws in, ids out
verify.py     a draft and the target's logits -> how many tokens are accepted and which one follows
candidates.py the exact best few tokens of a row, quickly
cache.py      a key/value cache that can be rewound; the only file that touches transformers' cache API
attention.py  attention for a handful of queries over a long cache, without copying the cache
model.py      a causal language model with its cache: ids in, logits out
draft_run.py  what a drafter is given for one run
transfer.py   many small tensors to the host in one copy
"""
