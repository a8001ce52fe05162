"""The strings of the charts. Key -> language -> text."""

STRINGS: dict[str, dict[str, str]] = {
    "chart.table": {"en": "Table", "zh-CN": "数据表"},
    "chart.csv": {"en": "Download CSV", "zh-CN": "下载 CSV"},
    "chart.rows": {
        "en": "first {shown} of {total} rows; the CSV has all",
        "zh-CN": "共 {total} 行，显示前 {shown} 行；CSV 含全部",
    },
    "chart.none": {"en": "Nothing to draw yet", "zh-CN": "尚无可绘制的内容"},
    "chart.na": {"en": "n/a", "zh-CN": "无"},
    # Acceptance by draft position
    "chart.position": {"en": "Acceptance by draft position", "zh-CN": "各草稿位置的接受情况"},
    "chart.position.sub": {
        "en": "share of steps, with 95 % intervals; n counts the steps that reached the position",
        "zh-CN": "占步数的比例，含 95 % 区间；n 为到达该位置的步数",
    },
    "chart.untold": {
        "en": "Not reported by this server. The notes above say what it does not tell.",
        "zh-CN": "该服务器不报告此项。上方的说明列出了它没有告知的内容。",
    },
    "chart.position.none": {
        "en": "Nothing was drafted, so there is no acceptance to draw.",
        "zh-CN": "没有起草，因此没有接受情况可画。",
    },
    "chart.position.x": {"en": "draft position", "zh-CN": "草稿位置"},
    "chart.survival": {"en": "survival", "zh-CN": "存活率"},
    "chart.survival.help": {
        "en": "all drafts up to here accepted (steps with a ≥ i / steps with k ≥ i)",
        "zh-CN": "至此全部草稿被接受（a ≥ i 的步 / k ≥ i 的步）",
    },
    "chart.conditional": {"en": "conditional", "zh-CN": "条件接受率"},
    "chart.conditional.help": {
        "en": "accepted, given that the one before was (a ≥ i / a ≥ i − 1 and k ≥ i)",
        "zh-CN": "前一个被接受时此处也被接受（a ≥ i / a ≥ i − 1 且 k ≥ i）",
    },
    # Timeline of steps
    "chart.timeline": {"en": "Timeline of steps", "zh-CN": "逐步时间线"},
    "chart.timeline.sub": {"en": "time per step, and drafts accepted", "zh-CN": "每步用时与被接受的草稿数"},
    "chart.timeline.binned": {
        "en": "time per step, and drafts accepted; each bar is the mean of {n} steps",
        "zh-CN": "每步用时与被接受的草稿数；每条为 {n} 步的平均",
    },
    "chart.timeline.none": {"en": "No decode steps yet.", "zh-CN": "尚无解码步。"},
    "chart.timeline.x": {"en": "step", "zh-CN": "步"},
    "chart.timeline.ms": {"en": "ms per step", "zh-CN": "毫秒/步"},
    "chart.timeline.accepted": {"en": "drafts per step", "zh-CN": "草稿数/步"},
    "chart.timeline.nosplit": {
        "en": "the engine reports no split into drafting and verifying",
        "zh-CN": "引擎未区分起草与验证时间",
    },
    "chart.draft": {"en": "draft", "zh-CN": "起草"},
    "chart.verify": {"en": "verify", "zh-CN": "验证"},
    "chart.overhead": {"en": "overhead", "zh-CN": "开销"},
    "chart.step_time": {"en": "whole step", "zh-CN": "整步"},
    "chart.accepted": {"en": "accepted", "zh-CN": "已接受"},
    "chart.drafted": {"en": "drafted", "zh-CN": "已起草"},
    # Device
    "chart.device": {"en": "Device", "zh-CN": "设备"},
    "chart.device.sub": {"en": "over the seconds since the run was submitted", "zh-CN": "自提交运行起的秒数"},
    "chart.device.cpu": {
        "en": "No GPU readings on this machine: its CPU and memory are shown.",
        "zh-CN": "此机器无 GPU 读数：显示其 CPU 与内存。",
    },
    "chart.device.none": {"en": "No device was sampled.", "zh-CN": "没有设备采样。"},
    "chart.device.joules": {"en": "{value} J per token", "zh-CN": "每词元 {value} 焦"},
    "chart.device.nojoules": {
        "en": "joules per token: n/a, no energy counter",
        "zh-CN": "每词元能耗：无，没有能量计数器",
    },
    "chart.utilisation": {"en": "utilisation", "zh-CN": "利用率"},
    "chart.memory": {"en": "memory", "zh-CN": "内存"},
    "chart.power": {"en": "power", "zh-CN": "功率"},
    "chart.temperature": {"en": "temperature", "zh-CN": "温度"},
    "chart.sm_clock": {"en": "core clock", "zh-CN": "核心频率"},
    "chart.memory_clock": {"en": "memory clock", "zh-CN": "显存频率"},
    "chart.seconds": {"en": "seconds", "zh-CN": "秒"},
    "chart.nodata": {"en": "n/a: the device does not report it", "zh-CN": "无：设备未报告"},
    # Why
    "why.title": {"en": "From the ideal to the measured speed-up", "zh-CN": "从理想加速比到实测加速比"},
    "why.sub": {
        "en": "decode speed-up, × the speed without speculation",
        "zh-CN": "解码加速比，以不用推测解码的速度为 1",
    },
    "why.sub.live": {
        "en": "so far: decode speed-up, × the speed without speculation",
        "zh-CN": "目前：解码加速比，以不用推测解码的速度为 1",
    },
    "why.ideal": {"en": "ideal", "zh-CN": "理想"},
    "why.ideal.help": {"en": "every draft accepted, at no cost", "zh-CN": "草稿全部接受且无代价"},
    "why.acceptance": {"en": "acceptance", "zh-CN": "接受率"},
    "why.acceptance.help": {"en": "drafts that were wrong", "zh-CN": "猜错的草稿"},
    "why.verify": {"en": "verifying", "zh-CN": "验证"},
    "why.verify.help": {"en": "the target's wider pass", "zh-CN": "目标模型更宽的前向"},
    "why.draft": {"en": "drafting", "zh-CN": "起草"},
    "why.draft.help": {"en": "time to propose", "zh-CN": "提出草稿的时间"},
    "why.overhead": {"en": "overhead", "zh-CN": "开销"},
    "why.overhead.help": {"en": "per step, outside both models", "zh-CN": "每步在两个模型之外的时间"},
    "why.measured": {"en": "measured", "zh-CN": "实测"},
    "why.line": {"en": "same speed", "zh-CN": "同速"},
    "why.most.acceptance": {
        "en": "Rejected drafts cost the most: {before}× became {after}×.",
        "zh-CN": "被拒的草稿代价最大：{before}× 变为 {after}×。",
    },
    "why.most.verify": {
        "en": "Judging several tokens at once cost the most: {before}× became {after}×.",
        "zh-CN": "一次判定多个词元代价最大：{before}× 变为 {after}×。",
    },
    "why.most.draft": {
        "en": "Drafting cost the most: {before}× became {after}×.",
        "zh-CN": "起草代价最大：{before}× 变为 {after}×。",
    },
    "why.most.overhead": {
        "en": "Time outside both models cost the most: {before}× became {after}×.",
        "zh-CN": "两个模型之外的时间代价最大：{before}× 变为 {after}×。",
    },
    "why.most.nothing": {
        "en": "No part cost anything: the ideal was reached.",
        "zh-CN": "没有任何损失：达到了理想值。",
    },
    "why.try.acceptance": {
        "en": "Try a draft that agrees with the target more often, a lower num_speculative_tokens, or a prompt that "
        "repeats itself (code, quotations, lists).",
        "zh-CN": "可尝试与目标模型更一致的草稿、更小的 num_speculative_tokens，或更重复的提示词（代码、引文、列表）。",
    },
    "why.try.verify": {
        "en": "Try a lower num_speculative_tokens: each drafted token widens the target's pass.",
        "zh-CN": "可尝试更小的 num_speculative_tokens：每个草稿词元都会加宽目标模型的前向。",
    },
    "why.try.draft": {
        "en": "Try a smaller draft model, n-gram drafting, or a lower num_speculative_tokens.",
        "zh-CN": "可尝试更小的草稿模型、n-gram 起草，或更小的 num_speculative_tokens。",
    },
    "why.try.overhead": {
        "en": "Try a larger target model, where a fixed cost per step weighs less, or an engine with less of it.",
        "zh-CN": "可尝试更大的目标模型（固定开销占比更小），或每步开销更小的引擎。",
    },
    "why.predicted": {
        "en": "Predicted from the parts {predicted}×, measured {measured}×; overhead {overhead} per step.",
        "zh-CN": "按各部分预测 {predicted}×，实测 {measured}×；每步开销 {overhead}。",
    },
    "why.none.waiting": {
        "en": "Once both arms have run, this shows where the speed-up went.",
        "zh-CN": "两侧运行完成后，这里显示加速去了哪里。",
    },
    "why.none.no_drafts": {
        "en": "Nothing was drafted, so there was nothing to gain: the text offered the method no match.",
        "zh-CN": "没有起草，因此没有收益：文本中没有该方法可用的匹配。",
    },
    "why.none.untold": {
        "en": "This server does not report what its speculation did, so the gain cannot be divided up.",
        "zh-CN": "该服务器不报告其推测解码的情况，因此无法拆分收益。",
    },
    "why.none.no_split": {
        "en": "n/a: the engine does not report how long it drafted and verified.",
        "zh-CN": "无：引擎未报告起草与验证的时间。",
    },
    # Column heads of the tables
    "col.position": {"en": "position", "zh-CN": "位置"},
    "col.survival": {"en": "survival", "zh-CN": "存活率"},
    "col.survival_n": {"en": "n", "zh-CN": "n"},
    "col.conditional": {"en": "conditional", "zh-CN": "条件接受率"},
    "col.conditional_n": {"en": "n", "zh-CN": "n"},
    "col.step": {"en": "step", "zh-CN": "步"},
    "col.at": {"en": "at, s", "zh-CN": "时刻（秒）"},
    "col.drafted": {"en": "drafted", "zh-CN": "已起草"},
    "col.accepted": {"en": "accepted", "zh-CN": "已接受"},
    "col.delivered": {"en": "delivered", "zh-CN": "已交付"},
    "col.draft_ms": {"en": "draft, ms", "zh-CN": "起草（毫秒）"},
    "col.verify_ms": {"en": "verify, ms", "zh-CN": "验证（毫秒）"},
    "col.step_ms": {"en": "whole step, ms", "zh-CN": "整步（毫秒）"},
    "col.device": {"en": "device", "zh-CN": "设备"},
    "col.utilisation": {"en": "utilisation, %", "zh-CN": "利用率（%）"},
    "col.memory": {"en": "memory, GiB", "zh-CN": "内存（GiB）"},
    "col.power": {"en": "power, W", "zh-CN": "功率（W）"},
    "col.temperature": {"en": "temperature, °C", "zh-CN": "温度（°C）"},
    "col.sm_clock": {"en": "core clock, MHz", "zh-CN": "核心频率（MHz）"},
    "col.memory_clock": {"en": "memory clock, MHz", "zh-CN": "显存频率（MHz）"},
    "col.part": {"en": "part", "zh-CN": "部分"},
    "col.multiplier": {"en": "multiplier", "zh-CN": "倍数"},
    "col.reached": {"en": "speed-up after it", "zh-CN": "之后的加速比"},
}
