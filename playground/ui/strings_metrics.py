"""Names, formulas and remarks of the metrics. English from METRICS itself, Chinese from the table below."""

from playground.metrics import METRICS

_ZH: dict[str, tuple[str, str, str]] = {
    "draft_acceptance_rate": ("接受率", "Σa / Σk，只计 k ≥ 1 的步", "不含奖励词元"),
    "mean_acceptance_length": ("平均接受长度", "1 + Σa / S", "含奖励词元或恢复词元"),
    "tokens_per_step": (
        "词元/步",
        "交付的解码词元 / 目标模型的全部解码步",
        "含没有草稿的步，不含预填充给出的词元；它决定速度上限",
    ),
    "draft_share_of_output": ("草稿占输出比例", "交付的已接受词元 / 交付的词元", ""),
    "wasted_draft_fraction": ("草稿浪费比例", "1 − 交付的已接受词元 / Σk", ""),
    "ttft": ("首词元时间 TTFT", "首个交付词元的时刻 − 提交时刻", "不含加载与排队"),
    "tpot": ("每词元时间 TPOT", "（末词元 − 首词元）/（交付数 − 1）", "按词元计，从不按数据块计"),
    "tokens_per_second": ("解码速度", "（交付数 − 1）/（末词元 − 首词元）", ""),
    "tokens_per_second_end_to_end": ("端到端速度", "交付数 /（末词元 − 提交时刻）", ""),
    "processor_wait": (
        "等待处理器",
        "计算线程就绪却须等待的最长时间（含宿主机占用）/ 解码时间",
        "期间有其他程序在运行；超过 10 % 时速度不代表本机；系统不提供时为 n/a",
    ),
    "joules_per_token": ("能耗", "能量计数器之差 / 交付的词元", "仅在 NVML 提供时"),
    "expected_tokens_per_step": (
        "期望词元/步",
        "(1 − α^(k+1)) / (1 − α)，α = Σa / Σmin(a + 1, k)",
        "理论值（Leviathan 等，2023），仅用于假设曲线",
    ),
    "speedup": ("加速比", "基线 TPOT / 推测解码 TPOT", "解码阶段，同一提示词，成对比较"),
    "speedup_end_to_end": ("端到端加速比", "推测解码端到端速度 / 基线端到端速度", ""),
    "predicted_speedup": ("预测加速比", "词元/步 × 基线 TPOT /（起草 + 验证）均值", "在解码步上"),
}


def _strings() -> dict[str, dict[str, str]]:
    strings = {}
    for name, metric in METRICS.items():
        chinese = _ZH.get(name, (metric.title, metric.formula, metric.remark))
        english = (metric.title, metric.formula, metric.remark)
        for part, en, zh in zip(("", ".formula", ".remark"), english, chinese, strict=True):
            strings[f"metric.{name}{part}"] = {"en": en, "zh-CN": zh}
    return strings


STRINGS: dict[str, dict[str, str]] = _strings()
