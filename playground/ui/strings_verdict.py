"""The strings of the verdict strip. Key -> language -> text."""

STRINGS: dict[str, dict[str, str]] = {
    "metric.mean_acceptance_length.short": {"en": "mean length", "zh-CN": "平均长度"},
    "metric.ttft.short": {"en": "TTFT", "zh-CN": "TTFT"},
    "metric.tpot.short": {"en": "TPOT", "zh-CN": "TPOT"},
    "verdict.faster": {"en": "faster with speculation", "zh-CN": "使用推测解码后更快"},
    "verdict.slower": {"en": "slower with speculation", "zh-CN": "使用推测解码后更慢"},
    "verdict.same": {"en": "as fast as without", "zh-CN": "与不使用时一样快"},
    "verdict.faster.live": {"en": "faster, so far", "zh-CN": "目前更快"},
    "verdict.slower.live": {"en": "slower, so far", "zh-CN": "目前更慢"},
    "verdict.same.live": {"en": "as fast, so far", "zh-CN": "目前一样快"},
    "verdict.none": {"en": "measured speed-up", "zh-CN": "实测加速比"},
    "verdict.none.live": {"en": "measuring", "zh-CN": "测量中"},
    "verdict.unmeasured": {"en": "not measured", "zh-CN": "未测得"},
    "verdict.sr": {
        "en": "Measured: {speedup} times the speed, {words}. {outputs}",
        "zh-CN": "实测：速度为 {speedup} 倍，{words}。{outputs}",
    },
    "verdict.speedup.n": {
        "en": "n: 1 prompt, {baseline} tokens without and {speculative} with speculation",
        "zh-CN": "n：1 个提示词，不用推测解码 {baseline} 个词元，使用时 {speculative} 个",
    },
    "verdict.end_to_end": {"en": "end to end, prefill included: {value}×", "zh-CN": "端到端（含预填充）：{value}×"},
    "verdict.predicted": {"en": "predicted from the parts: {value}×", "zh-CN": "按各部分预测：{value}×"},
    "verdict.accepted.n": {"en": "n: {a} of {k} draft tokens", "zh-CN": "n：{k} 个草稿词元中的 {a} 个"},
    "verdict.steps.n": {"en": "n: {tokens} tokens in {steps} steps", "zh-CN": "n：{steps} 步共 {tokens} 个词元"},
    "verdict.length.n": {
        "en": "n: {steps} steps with drafts, at most {k} drafted on average",
        "zh-CN": "n：{steps} 个有草稿的步，平均起草 {k} 个",
    },
    "verdict.tokens.n": {"en": "n: {n} tokens", "zh-CN": "n：{n} 个词元"},
    "verdict.pair.n": {
        "en": "without → with speculation; n: {baseline} and {speculative} tokens",
        "zh-CN": "不用 → 使用推测解码；n：{baseline} 与 {speculative} 个词元",
    },
    "verdict.outputs": {"en": "outputs", "zh-CN": "输出"},
    "verdict.outputs.identical": {"en": "identical", "zh-CN": "完全一致"},
    "verdict.outputs.identical.help": {
        "en": "Both arms delivered the same token ids, position by position.",
        "zh-CN": "两侧逐位置交付了相同的词元 id。",
    },
    "verdict.outputs.tie": {"en": "numeric tie at token {position}", "zh-CN": "第 {position} 个词元处数值平局"},
    "verdict.outputs.mismatch": {"en": "differ from token {position}", "zh-CN": "自第 {position} 个词元起不同"},
    "verdict.outputs.gap": {
        "en": "The target's two best logits are {gap} apart there; the two arms' logits differ by {difference}.",
        "zh-CN": "该处目标模型最好的两个 logit 相差 {gap}；两侧的 logit 相差 {difference}。",
    },
    "verdict.outputs.tie.help": {
        "en": "Rounding decided between two equally good tokens; no fault of the method.",
        "zh-CN": "舍入在两个同样好的词元之间做了选择；并非方法之误。",
    },
    "verdict.outputs.mismatch.help": {
        "en": "A real mismatch: greedy speculative decoding must give the same tokens. The comparison is invalid.",
        "zh-CN": "真正的不一致：贪心推测解码必须给出相同的词元。此次对比无效。",
    },
    "verdict.outputs.unknown.help": {
        "en": "The engine reports no logits there, so a numeric tie cannot be told from a mismatch.",
        "zh-CN": "引擎未报告该处的 logit，无法区分数值平局与不一致。",
    },
    "verdict.outputs.sampled": {
        "en": "Sampled: equal in law, not token by token.",
        "zh-CN": "采样：分布相同，但不逐词元相同。",
    },
    "verdict.outputs.not_finished": {"en": "Not finished.", "zh-CN": "尚未完成。"},
    "verdict.outputs.stopped": {
        "en": "One arm was stopped early; equal as far as both went.",
        "zh-CN": "一侧提前停止；两侧都到达之处相同。",
    },
    "verdict.invalid": {"en": "INVALID", "zh-CN": "无效"},
    "verdict.invalid.label": {"en": "counters", "zh-CN": "计数"},
    "verdict.disturbed": {"en": "disturbed", "zh-CN": "受干扰"},
    "verdict.disturbed.label": {"en": "machine", "zh-CN": "机器"},
    "verdict.disturbed.help": {
        "en": "Other programs held the processor meanwhile ({waited} of the time): this speed is not the machine's.",
        "zh-CN": "解码期间其他程序占用了处理器（占时间的 {waited}）：此速度不代表本机。",
    },
    "verdict.disturbed.fix": {
        "en": "Run it again when the machine has nothing else to do.",
        "zh-CN": "请在机器空闲时重新运行。",
    },
    "verdict.notes": {"en": "notes", "zh-CN": "说明"},
    "verdict.why": {"en": "why", "zh-CN": "原因"},
    "verdict.mean": {
        "en": "longer is better: 1 means no draft was ever right",
        "zh-CN": "越长越好：1 表示草稿从未命中",
    },
    "verdict.na.no_drafts": {"en": "n/a: nothing was drafted", "zh-CN": "无：没有起草任何词元"},
    "verdict.na.untold": {"en": "n/a: this server does not report it", "zh-CN": "无：该服务器不报告此项"},
    "verdict.na.too_short": {"en": "n/a: fewer than two tokens", "zh-CN": "无：不足两个词元"},
}
