"""Labels and tooltips of the controls: English from the pydantic fields themselves, Chinese from the table below.

A new field shows its English until its Chinese stands here. Keys: `field.<place>` and `field.<place>.info`.
"""

from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from playground import engines, exporters
from playground.config import RunConfig, SamplingParams, Speculation
from playground.registry import discover

_ZH: dict[str, tuple[str, str]] = {
    "engine": ("引擎", "由什么来运行模型。"),
    "target": ("目标模型", "需要其输出的模型：名称、文件夹、GGUF 文件或 hub id。"),
    "dtype": ("数据类型", "权重与计算所用的数字格式。"),
    "chat": ("对话模板", "用目标模型自己的对话模板包装提示词。"),
    "history": ("此前对话", "提示词之前的对话内容。"),
    "system_prompt": ("系统提示词", "仅在使用对话模板时有效；留空则不加。"),
    "speculation.method": ("方法", "草稿词元如何产生。"),
    "speculation.num_speculative_tokens": ("num_speculative_tokens", "k：每步最多起草的词元数。"),
    "speculation.model": ("草稿模型", "名称、文件夹、GGUF 文件或 hub id；仅用于需要它的方法。"),
    "sampling.temperature": ("温度", "0 为贪心：总取最可能的词元。"),
    "sampling.top_p": ("Top-p", "只保留累计概率达到此值的最小词元集合。"),
    "sampling.top_k": ("Top-k", "只保留最可能的 k 个词元；0 表示全部保留。"),
    "sampling.min_p": ("Min-p", "丢弃概率低于最可能词元此比例的词元。"),
    "sampling.repetition_penalty": ("重复惩罚", "大于 1 时抑制已出现过的词元。"),
    "sampling.presence_penalty": ("存在惩罚", "对已生成过的词元一次性扣减。"),
    "sampling.frequency_penalty": ("频率惩罚", "词元每生成一次就扣减一次。"),
    "sampling.min_tokens": ("最少词元数", "在此之前不出现结束符，也不因停止字符串而停。"),
    "sampling.max_tokens": ("最多词元数", "生成这么多新词元后停止。"),
    "sampling.seed": ("随机种子", "相同种子得到相同文本；留空则每次随机。"),
    "sampling.stop": ("停止字符串", "在其中最先出现者之前结束；每行一个。"),
    "sampling.ignore_eos": ("忽略结束符", "越过结束符继续生成（用于计时）。"),
    "options.min_n": ("最短 n", "要匹配的最短后缀长度。"),
    "options.max_n": ("最长 n", "要匹配的最长后缀长度。"),
    "options.prompt_lookup_min": ("最短 n", "要匹配的最短后缀长度。"),
    "options.prompt_lookup_max": ("最长 n", "要匹配的最长后缀长度。"),
    "options.cap_max_tokens": ("限制最多词元数", "把 max_tokens 写成服务器对每个请求的硬上限。"),
    "options.forward_pass": (
        "前向计算",
        "auto：结果与 transformers 一致时使用更精简的实现。",
    ),
    "options.dialect": ("版本", "按哪个版本的键名书写。"),
    "options.program": ("程序", "容器里运行哪个服务器。"),
    "options.devices": ("GPU 数", "为每个副本预留；留空表示按并行数所需。"),
    "options.flavour": ("形式", "普通 Deployment，或 Helm chart 的 values（仅限 vLLM）。"),
    "options.attn_implementation": ("注意力实现", "auto：不复制缓存的 SDPA；sdpa、eager：transformers 自带。"),
    "options.max_model_len": ("上下文上限", "提示词与回答合计的词元数；留空则用模型自身的上限。"),
    "options.prefill_chunk": ("预填充块", "一次读入的提示词词元数；停止在块之间生效。"),
    "options.counterfactual": ("反事实 k", "温度 0 时另外记录这些 k 各会接受多少；供调优器使用。"),
    "options.candidates": ("候选数", "每个位置报告各模型最可能的词元数。"),
    "options.draft_sample_method": ("草稿采样", "greedy：取最可能的词元；probabilistic：按分布抽取（仅在有温度时）。"),
    "options.draft_p_min": ("最低置信度", "草稿模型给最佳词元的概率低于此值时停止起草；0 表示总是起草 k 个。"),
    "options.lookup": ("查找方式", "suffix：最常见的后续；ngram：照抄先前的一处。"),
    "options.draft_max_tokens": ("模型的 k", "模型最多起草的词元数；留空则与查找相同。"),
    "options.source": ("文本", "输出哪段预置文本。"),
    "options.length": ("长度", "结束符之前的词元数。"),
    "options.steps_seed": ("步骤种子", "决定哪些草稿被接受。"),
    "options.tokens_per_second": ("每秒词元数", "基线速度：每个词元一次目标前向。"),
    "options.pace": ("按节奏", "步骤之间等待；关闭则一次发完，时间戳不变。"),
    "options.acceptance": ("接受概率", "每个草稿词元正确的概率。"),
    "options.no_draft": ("无草稿比例", "没有起草的步骤所占比例。"),
    "options.draft_cost": ("起草代价", "一个草稿词元的时间，以目标前向为单位。"),
    "options.split": ("分开计时", "分别报告起草与验证时间。"),
    "options.prefill_seconds": ("预填充时间", "到首个词元的秒数。"),
    "options.load_seconds": ("加载时间", "加载所需秒数。"),
    "options.diverge_at": ("分歧位置", "使用推测解码的一侧从此输出位置起不同；0 表示从不。"),
    "options.divergence": ("分歧种类", "该处的 logit 差距是否说得过去。"),
    "options.processor_wait": ("等待处理器", "报告其他程序占用处理器的时间份额。"),
    "options.miscount": ("错误计数", "报告对不上的用量。"),
    "options.device": ("设备锁", "要占用的设备锁名称；留空则不占。"),
    "options.fail": ("故障", "load、oom：加载时；其余在运行中途。"),
    "options.mode": ("模式", "trace：每个草稿词元都有名字；headline：vLLM 自己的默认设置，草稿可能只有数目。"),
    "options.tensor_parallel_size": ("张量并行数", "分担每一层的设备数。"),
    "options.pipeline_parallel_size": ("流水线并行数", "把各层分给几组设备。"),
    "options.data_parallel_size": ("数据并行数", "分担请求的模型副本数。"),
    "options.distributed_executor_backend": (
        "执行后端",
        "mp：本机；ray：模型大到一台机器放不下时用 vLLM 自带的 Ray 后端；留空由 vLLM 决定。",
    ),
    "options.quantization": ("量化", "留空则按模型自身的设置。"),
    "options.gpu_memory_utilization": ("显存占比", "整个 GPU 中用于权重、KV 缓存和计算图的比例。"),
    "options.max_num_seqs": ("同时运行数", "一起计算的请求数；超出的等待。"),
    "options.enforce_eager": ("即时执行", "不编译、不用 CUDA graph；留空则 CPU 上即时执行、GPU 上编译。"),
    "options.kv_cache_dtype": ("KV 缓存类型", "auto：与模型相同；或 fp8 等。"),
    "options.max_num_speculative_tokens": ("加载的最大 k", "按此 k 加载，较小的 k 便无需重启；0 表示恰为运行的 k。"),
    "options.suffix_decoding_max_tree_depth": ("树深", "匹配与草稿合计的词元数上限。"),
    "options.suffix_decoding_max_cached_requests": (
        "缓存的回答数",
        "可供起草的过往回答，vLLM 默认 10000；0 使各次运行互不影响，比较才公平。",
    ),
    "options.suffix_decoding_max_spec_factor": ("草稿系数", "每个匹配词元最多起草的词元数。"),
    "options.suffix_decoding_min_token_prob": ("最小概率", "只起草计数概率不低于此值的词元。"),
    "options.rejection_sample_method": ("接受检验", "standard：逐个词元；block：整段草稿（仅新的模型运行器）。"),
    "options.draft_tensor_parallel_size": ("草稿张量并行数", "1 或与目标相同；留空则与目标相同。"),
    "options.attention_backend": ("草稿注意力后端", "留空由 vLLM 决定。"),
    "options.parallel_drafting": ("并行起草", "一次前向得到全部草稿；草稿须为此训练。"),
    "options.use_heterogeneous_vocab": ("不同词表", "只起草两个模型共有的词元；仅限贪心草稿。"),
    "options.disable_padded_drafter_batch": ("草稿不补齐", "同一批中的序列可起草不同长度。"),
    "options.use_local_argmax_reduction": ("本地 argmax", "减少张量并行草稿之间的通信；仅限贪心草稿。"),
    "options.url": ("服务器", "使用推测解码的服务器地址。"),
    "options.baseline_url": (
        "无推测解码的服务器",
        "同一模型、不使用推测解码；留空则取同一提示词最近一次已存的无推测解码运行。",
    ),
    "options.server": ("种类", "auto：向其询问；other：普通的 OpenAI 接口。"),
    "options.timeout": ("耐心", "沉默多少秒后放弃此次运行。"),
    "options.tokenizer": ("分词器", "本机上与服务器分词器相同的模型，用于逐词元着色；留空则用目标模型。"),
    "options.match": ("取哪个匹配", "最早的匹配（vLLM 的做法）或最近的匹配。"),
}
"""Place in the config -> (label, tooltip). Options stand under `options.<field>`, whoever owns them."""

_EN: dict[str, tuple[str, str]] = {
    "sampling.stop": ("Stop strings", "Generation ends before the first of these; one per line."),
}
"""Where the page says more than the field: how its widget is filled."""


def option_models() -> dict[str, type[BaseModel]]:
    """Prefix -> model of the own options of every engine, drafting method and exporter."""
    found: dict[str, type[BaseModel]] = {}
    for name, module in discover(engines.PACKAGE).items():
        found[f"engine_options.{name}"] = module.Engine.Options
        for method, options in module.Engine.methods().items():
            found[f"options.{method}@{name}"] = options
    for name, module in discover(exporters.PACKAGE).items():
        if options := getattr(module, "Options", None):
            found[f"export_options.{name}"] = options
    return found


def _fields() -> Iterator[tuple[str, str, FieldInfo]]:
    """(key, key of its Chinese, field) of every field that may become a widget."""
    for name, field in RunConfig.model_fields.items():
        yield name, name, field
    for name, field in Speculation.model_fields.items():
        yield f"speculation.{name}", f"speculation.{name}", field
    for name, field in SamplingParams.model_fields.items():
        yield f"sampling.{name}", f"sampling.{name}", field
    for prefix, model in option_models().items():
        for name, field in model.model_fields.items():
            yield f"{prefix}.{name}", f"options.{name}", field


def _strings() -> dict[str, dict[str, str]]:
    strings: dict[str, dict[str, str]] = {}
    for key, place, field in _fields():
        title, info = field.title or key.rsplit(".", 1)[-1].replace("_", " "), field.description or ""
        title, info = _EN.get(place, (title, info))
        zh_title, zh_info = _ZH.get(place, (title, info))
        strings[f"field.{key}"] = {"en": title, "zh-CN": zh_title}
        strings[f"field.{key}.info"] = {"en": info, "zh-CN": zh_info}
    return strings


STRINGS = _strings()
