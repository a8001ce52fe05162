"""The strings of the step inspector. Key -> language -> text; reasons take tokens and probabilities in braces."""

STRINGS: dict[str, dict[str, str]] = {
    "inspector.empty": {"en": "Click a token above to see its step.", "zh-CN": "点击上方的词元以查看它所在的步。"},
    "inspector.loading": {"en": "Fetching the step …", "zh-CN": "正在获取此步……"},
    "inspector.gone": {"en": "This step is no longer available.", "zh-CN": "此步已不可用。"},
    "inspector.failed": {
        "en": "The step could not be fetched; is the server still running?",
        "zh-CN": "无法获取此步；服务器还在运行吗？",
    },
    "inspector.step": {"en": "Step {index}", "zh-CN": "第 {index} 步"},
    "inspector.prefill": {"en": "Prefill", "zh-CN": "预填充"},
    "inspector.previous": {"en": "previous", "zh-CN": "上一步"},
    "inspector.next": {"en": "next", "zh-CN": "下一步"},
    "inspector.counts": {"en": "{k} drafted, {a} accepted", "zh-CN": "起草 {k} 个，接受 {a} 个"},
    "inspector.no_drafts": {"en": "no drafts", "zh-CN": "没有草稿"},
    "inspector.draft_time": {"en": "draft {ms} ms", "zh-CN": "起草 {ms} 毫秒"},
    "inspector.verify_time": {"en": "verify {ms} ms", "zh-CN": "验证 {ms} 毫秒"},
    "inspector.no_split": {"en": "times: n/a, not reported", "zh-CN": "用时：无，引擎未报告"},
    "inspector.at": {"en": "at {seconds} s", "zh-CN": "时刻 {seconds} 秒"},
    "inspector.truncated.eos": {"en": "ends the run: end of sequence", "zh-CN": "运行结束：序列结束符"},
    "inspector.truncated.stop": {"en": "ends the run: stop string", "zh-CN": "运行结束：停止串"},
    "inspector.truncated.length": {"en": "ends the run: token limit", "zh-CN": "运行结束：词元上限"},
    "inspector.lane.drafted": {"en": "drafted", "zh-CN": "起草"},
    "inspector.lane.verified": {"en": "verified", "zh-CN": "验证"},
    "inspector.lane.target": {"en": "target's best", "zh-CN": "目标模型的候选"},
    "inspector.lane.draft": {"en": "draft's best", "zh-CN": "草稿的候选"},
    "inspector.lane.gap": {"en": "logit gap", "zh-CN": "logit 差"},
    "inspector.lane.why": {"en": "why", "zh-CN": "原因"},
    "inspector.none": {"en": "–", "zh-CN": "–"},
    "inspector.na.not_reported": {"en": "n/a: not reported", "zh-CN": "无：未报告"},
    "inspector.na.not_judged": {"en": "n/a: not judged", "zh-CN": "无：未经判定"},
    "inspector.na.one_hot": {
        "en": "one certain proposal: this method has no probabilities of its own",
        "zh-CN": "一个确定的提议：此方法自身没有概率",
    },
    "inspector.gap.help": {
        "en": "the target's best logit minus its second best: how near a tie it was",
        "zh-CN": "目标模型最好与次好 logit 之差：离平局有多近",
    },
    "inspector.why.prefill": {
        "en": "Reading the prompt gives the first token; nothing was drafted yet.",
        "zh-CN": "读取提示词给出第一个词元；此时尚无草稿。",
    },
    "inspector.why.target": {
        "en": "Nothing was drafted in this step: the target's own token.",
        "zh-CN": "此步没有起草：目标模型自己的词元。",
    },
    "inspector.why.bonus": {
        "en": "All {k} drafts were accepted, so the target's pass gives one more token for free.",
        "zh-CN": "全部 {k} 个草稿都被接受，目标模型的这次前向额外给出一个词元。",
    },
    "inspector.why.discarded": {
        "en": "Never judged: an earlier draft of this step was rejected.",
        "zh-CN": "从未判定：此步中更早的草稿已被拒。",
    },
    "inspector.why.cut": {
        "en": "Accepted, but not delivered: the run ended before it.",
        "zh-CN": "已接受但未交付：运行在它之前结束。",
    },
    "inspector.why.greedy_accepted": {
        "en": "The draft proposed the target's best token, which has {best}.",
        "zh-CN": "草稿提出的正是目标模型的最佳词元，概率 {best}。",
    },
    "inspector.why.greedy_accepted_bare": {
        "en": "The draft proposed the target's best token.",
        "zh-CN": "草稿提出的正是目标模型的最佳词元。",
    },
    "inspector.why.greedy_rejected": {
        "en": "The target's best was {best}; the draft proposed {draft_token}, which the target gives {draft}.",
        "zh-CN": "目标模型的最佳词元是 {best}；草稿提出 {draft_token}，目标模型给它 {draft}。",
    },
    "inspector.why.greedy_rejected_unseen": {
        "en": "The target's best was {best}; the draft proposed {draft_token}, which is not among its best five.",
        "zh-CN": "目标模型的最佳词元是 {best}；草稿提出 {draft_token}，不在其前五之中。",
    },
    "inspector.why.greedy_rejected_bare": {
        "en": "The draft was not the target's best token.",
        "zh-CN": "草稿不是目标模型的最佳词元。",
    },
    "inspector.why.sampled_accepted": {
        "en": "Accepted with probability min(1, {target} / {draft}) = {accept}.",
        "zh-CN": "以概率 min(1, {target} / {draft}) = {accept} 被接受。",
    },
    "inspector.why.sampled_rejected": {
        "en": "It had min(1, {target} / {draft}) = {accept} of being accepted, and the draw went against it. "
        "The recovered token was drawn from what the target gives beyond the draft.",
        "zh-CN": "它有 min(1, {target} / {draft}) = {accept} 的概率被接受，但未抽中。"
        "恢复词元取自目标分布超出草稿分布的部分。",
    },
    "inspector.why.accepted_bare": {
        "en": "Accepted; the probabilities were not reported.",
        "zh-CN": "已接受；概率未报告。",
    },
    "inspector.why.rejected_bare": {
        "en": "Rejected; the probabilities were not reported.",
        "zh-CN": "被拒；概率未报告。",
    },
}
