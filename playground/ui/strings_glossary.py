"""The terms of the field and their one-line explanations. Key -> language -> text."""

_TERMS: dict[str, tuple[str, str, str, str]] = {
    "target_model": (
        "target model",
        "The model whose output is wanted; speculation never changes what it would say.",
        "目标模型",
        "需要其输出的模型；推测解码从不改变它要说的内容。",
    ),
    "draft_model": (
        "draft model",
        "A small, fast model that guesses the target's next tokens.",
        "草稿模型",
        "猜测目标模型后续词元的小而快的模型。",
    ),
    "draft_token": (
        "draft token",
        "One guessed token, to be judged by the target.",
        "草稿词元",
        "一个待目标模型判定的猜测词元。",
    ),
    "step": (
        "step",
        "One decode pass of the target and everything it delivered; prefill is not a step.",
        "步",
        "目标模型的一次解码前向及其交付的全部词元；预填充不算一步。",
    ),
    "prefill": ("prefill", "Reading the prompt; it gives the first token.", "预填充", "读取提示词；它给出第一个词元。"),
    "accepted": (
        "accepted",
        "A draft token that the target would have written too.",
        "已接受",
        "目标模型同样会写出的草稿词元。",
    ),
    "rejected": (
        "rejected",
        "A draft token the target refused; all drafts after it in the step are discarded unjudged.",
        "被拒",
        "目标模型拒绝的草稿词元；同一步中其后的草稿未经判定即弃用。",
    ),
    "recovered": (
        "recovered",
        "The target's own token in place of the rejected draft.",
        "恢复",
        "目标模型自己的词元，取代被拒的草稿。",
    ),
    "bonus": (
        "bonus",
        "One more token of the target, for free, when all drafts of a step were accepted.",
        "奖励",
        "一步的草稿全部被接受时，目标模型免费多给的一个词元。",
    ),
    "num_speculative_tokens": (
        "num_speculative_tokens (k)",
        "How many tokens are drafted per step, at most.",
        "num_speculative_tokens（k）",
        "每步最多起草的词元数。",
    ),
    "acceptance_rate": (
        "draft acceptance rate",
        "Accepted draft tokens out of all drafted; it falls as k grows, so never rank k by it.",
        "草稿接受率",
        "被接受的草稿词元占全部草稿词元的比例；它随 k 增大而下降，因此不可据此比较 k。",
    ),
    "mean_acceptance_length": (
        "mean acceptance length",
        "Tokens delivered per step with drafts, the recovered or bonus token included.",
        "平均接受长度",
        "有草稿的步平均交付的词元数，含恢复词元或奖励词元。",
    ),
    "tokens_per_step": (
        "tokens per step",
        "Tokens delivered per pass of the target, over all steps: the bound of the speed-up.",
        "词元/步",
        "目标模型每次前向交付的词元数，按全部步计：加速比的上限。",
    ),
    "survival": (
        "survival",
        "How often the drafts up to a position were all accepted.",
        "存活率",
        "至某位置的草稿全部被接受的频率。",
    ),
    "conditional_acceptance": (
        "conditional acceptance",
        "How often a draft was accepted, given that the one before it was.",
        "条件接受率",
        "前一个草稿被接受时，此草稿也被接受的频率。",
    ),
    "ttft": (
        "TTFT",
        "Time to first token: from submission to the first delivered token.",
        "TTFT",
        "首词元时间：从提交到首个交付词元。",
    ),
    "tpot": ("TPOT", "Time per output token after the first one.", "TPOT", "首词元之后每个输出词元的时间。"),
    "ngram": (
        "n-gram (prompt lookup)",
        "Drafts by copying what followed the same words earlier in the text; needs no draft model.",
        "n-gram（提示词查找）",
        "复制文中先前相同词语之后的内容作为草稿；不需要草稿模型。",
    ),
    "speculative_sampling": (
        "speculative sampling",
        "The accept test that keeps the target's law exactly: a draft lives with probability min(1, target / draft).",
        "推测采样",
        "严格保持目标分布的接受检验：草稿以 min(1, 目标概率 / 草稿概率) 的概率被接受。",
    ),
    "numeric_tie": (
        "numeric tie",
        "Two tokens so close that rounding decides between them; not a fault of the method.",
        "数值平局",
        "两个词元极为接近，由舍入决定取舍；并非方法之误。",
    ),
}

STRINGS: dict[str, dict[str, str]] = {}
for _name, (_en, _text, _zh, _zh_text) in _TERMS.items():
    STRINGS[f"term.{_name}"] = {"en": _en, "zh-CN": _zh}
    STRINGS[f"term.{_name}.text"] = {"en": _text, "zh-CN": _zh_text}
