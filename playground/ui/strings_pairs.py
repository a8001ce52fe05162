"""The strings of the Pairs tab and of every finding about a pair. Key -> language -> text.

The English of findings and of engines' reasons is the doctor's own; here are its translations, code by code.
"""

from playground.doctor.findings import SENTENCES
from playground.doctor.fits import REASONS

_FINDINGS: dict[str, str] = {
    "not_here": "{model} 不在本机：加载时再检查。",
    "unusable": "无法加载 {model}。{why}",
    "remote_code": "{model} 自带 Python 代码，此处不会运行。",
    "vocabulary_identical": "词表相同：{size} 个词元。",
    "vocabulary_padding_only": "词元相同，仅末尾填充不同（logits 为 {target} 与 {draft}）。",
    "vocabulary_tokens_differ": "{n} 个词元 id 含义不同，首个为 {id}：目标“{target}”，草稿“{draft}”。",
    "vocabulary_extra_tokens": "{n} 个词元 id 只存在于一侧，首个为 {id}：目标“{target}”，草稿“{draft}”。",
    "vocabulary_incompatible": "词表不同：{n} 个词元 id 含义不同，首个为 {id}：目标“{target}”，草稿“{draft}”。",
    "vocabulary_unknown": "{model} 没有可比较的分词器文件：两者加载后再检查。",
    "vocabulary_by_target": "草稿头直接读写目标模型的词元。",
    "head_fits": "{kind} 草稿头，适用于此隐藏维度（{hidden}）的目标模型。",
    "head_mismatch": "{kind} 草稿头需要隐藏维度 {draft} 的目标模型，而此目标为 {target}。",
    "not_a_model": "{model} 不是因果语言模型（{kind}），不能起草。",
    "bos_same": "BOS 词元相同：{target}。",
    "bos_differs": "BOS 不同：目标为 {target}，草稿为 {draft}；提示词只按目标模型生成一次。",
    "eos_same": "EOS 词元相同：{target}。",
    "eos_differs": "EOS 不同：目标为 {target}，草稿为 {draft}；以目标模型的为准结束回答。",
    "special_differ": "{n} 个特殊词元的标记不同，首个为“{first}”。",
    "template_same": "聊天模板相同。",
    "template_differs": "草稿的聊天模板不同：两者都使用目标模型的模板。",
    "template_missing": "草稿没有聊天模板：使用目标模型的模板，但草稿可能不懂对话格式。",
    "template_none": "目标模型没有聊天模板：提示词原样发送。",
    "family_same": "架构系列相同：{target}。",
    "family_differs": "架构系列不同：{target} 与 {draft}。",
    "window_same": "草稿与目标的上下文一样长：{target} 个词元。",
    "shorter_window": "草稿可读 {draft} 个词元，目标 {target} 个：超出后不再起草。",
    "size_ratio": "目标的参数量是草稿的 {ratio} 倍。",
    "draft_too_large": "目标的参数量仅为草稿的 {ratio} 倍：起草会抵消所省的时间。",
    "stateful": "{model} 保存无法回退的状态（线性注意力或 Mamba 层）。",
    "dtype_same": "两者都以 {target} 存储。",
    "dtype_differs": "分别以 {target} 与 {draft} 存储；运行时使用同一种数值格式。",
    "draft_quantised": "草稿已量化（{draft}）：更小，但一致率略低。",
    "target_quantised": "目标模型已量化（{target}）。",
    "not_embedded": "内置引擎无法运行：{why}",
    "no_engine": "没有引擎能运行：{why}",
    "memory_fits": "需要 {need}，{device} 上空闲 {free}（{context} 个词元，{dtype}）。",
    "memory_tight": "需要 {need}，{device} 上空闲 {free}（{context} 个词元，{dtype}）：余量很少。",
    "memory_short": "需要 {need}，但 {device} 上只有 {free} 空闲（{context} 个词元，{dtype}）。",
    "memory_unknown": "无法从配置得知所需内存。",
}

_REASONS: dict[str, tuple[str, str]] = {
    "runs": ("可以运行。", ""),
    "runs_by_rules": ("其规则不排斥这对模型。", ""),
    "broken": ("无法加载 {model}：{why}", "{fix}"),
    "no_such_method": ("没有适用于 {kind} 草稿头的方法。", "换用支持它的引擎，或使用与目标同分词器的草稿模型。"),
    "vocabulary": (
        "两者词元必须相同；有 {n} 个不同，首个为 id {id}。",
        "选择同系列、同分词器的草稿，或不需要模型的方法。",
    ),
    "vocabulary_unknown": ("无法比较词表。", "请提供含 tokenizer.json 的目录。"),
    "stateful": ("{model} 保存无法回退的状态。", "选择只有注意力层的模型，或不用推测解码运行目标。"),
    "remote_code": ("{model} 自带 Python 代码。", "管理员审阅后可设置 DRAFTBOARD_TRUST_REMOTE_CODE=true。"),
    "needs_package": ("{model} 以 {method} 量化，需要软件包 {package}。", "pip install {package}"),
    "unknown_quantization": ("{model} 以 {method} 量化，此引擎未必能读取。", "若被拒绝，请使用未量化的模型。"),
    "no_gguf": ("不读取 GGUF 文件。", "使用同一模型的 safetensors 目录。"),
    "needs_gguf": ("只读取 GGUF 文件。", "用 llama.cpp 的 convert_hf_to_gguf.py 转换 {model}，或下载其 GGUF。"),
    "needs_gguf_head": ("只读取 GGUF 文件。", "用 convert_hf_to_gguf.py --target-model-dir TARGET 转换草稿头。"),
    "vllm_sizes": ("它只比较词表大小，而两者为 {target} 与 {draft}。", "此设置按字符串映射词元；草稿须为贪心。"),
    "vllm_strings": ("它只比较大小，会直接启动，但有 {n} 个 id 含义不同。", "此设置按字符串映射词元；草稿须为贪心。"),
    "needs_nvidia": ("其规则不排斥这对模型；需要 NVIDIA GPU。", ""),
    "sglang_sizes": (
        "STANDALONE 拒绝大小不同的词表（{target} 与 {draft}），填充也算。",
        "将较小模型的嵌入与 vocab_size 补齐到较大者。",
    ),
    "sglang_context": ("草稿以目标的上下文长度运行，超过其自身的 {draft} 个词元。", "此设置将两者限制在草稿的窗口内。"),
    "llama_size": ("它拒绝相差超过 {most} 个词元的词表（{target} 与 {draft}）。", "选择目标同系列的草稿。"),
    "llama_token": (
        "它从 id {first} 起逐个比较词元；id {id} 不同（“{target}”、“{draft}”）。",
        "选择同系列、同分词器的草稿。",
    ),
    "llama_special": (
        "两者的 {role} 词元必须相同。",
        "用 gguf_set_metadata.py 将 tokenizer.ggml.{role}_token_id 设为一致，或换一个草稿。",
    ),
    "llama_kind": ("两者的分词器类型必须相同（{target} 与 {draft}）。", "选择目标同系列的草稿。"),
    "llama_setting": ("可以运行；只写 -md 会加载草稿却不使用它。", ""),
    "trt_head": ("TensorRT-LLM 读取 EAGLE-3 草稿头；EAGLE 1 与 2 会被拒绝。", "使用 EAGLE-3 草稿头。"),
    "as_head": ("可以运行此草稿头。", ""),
}

STRINGS: dict[str, dict[str, str]] = {
    **{f"pair.{code}": {"en": text, "zh-CN": _FINDINGS[code]} for code, text in SENTENCES.items()},
    **{f"fit.{code}": {"en": pair[0], "zh-CN": _REASONS[code][0]} for code, pair in REASONS.items()},
    **{f"fit.{code}.fix": {"en": pair[1], "zh-CN": _REASONS[code][1]} for code, pair in REASONS.items() if pair[1]},
}
