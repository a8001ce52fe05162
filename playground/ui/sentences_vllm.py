"""What the vLLM engine says, in Chinese, by its own English."""

CHINESE: dict[str, str] = {
    "vLLM is not installed.": "未安装 vLLM。",
    "Stop Draftboard and start it with: make run ENGINE=vllm (the first time installs vLLM).": (
        "请停止 Draftboard，并用 make run ENGINE=vllm 启动（首次会安装 vLLM）。"
    ),
    # Settings
    "vLLM has no drafting method called “{method}”.": "vLLM 没有名为“{method}”的起草方法。",
    "Name one, or choose a method without a model such as ngram.": "请指定一个，或选择 ngram 等无需模型的方法。",
    "prompt_lookup_min ({least}) must not exceed prompt_lookup_max ({most})": (
        "prompt_lookup_min（{least}）不得大于 prompt_lookup_max（{most}）"
    ),
    "vLLM {version} on a CPU may sample wrongly while it speculates: version 0.32.0 does, and this one was not "
    "checked.": "vLLM {version} 在 CPU 上推测解码时可能采样有误：0.32.0 版有误，而此版本未经检查。",
    "Set the temperature to 0, or install vLLM {repaired}, which is repaired here.": (
        "请将温度设为 0，或安装 vLLM {repaired}（本项目已为其修复）。"
    ),
    "vLLM does not load the GGUF file “{name}”.": "vLLM 不加载 GGUF 文件“{name}”。",
    "Give a safetensors folder; the embedded engine reads GGUF files.": (
        "请给出 safetensors 文件夹；内置引擎可读取 GGUF 文件。"
    ),
    # Memory
    "vLLM would run out of memory: {free}, gpu_memory_utilization {share:g} asks for {wanted:.1f} GiB. In use by "
    "{holders}.": (
        "vLLM 会内存不足：{free}，而 gpu_memory_utilization {share:g} 需要 {wanted:.1f} GiB。占用者：{holders}。"
    ),
    "{free:.1f} of {total:.1f} GiB are free on {device}": "{device} 上共 {total:.1f} GiB，空闲 {free:.1f} GiB",
    "processes NVML does not name": "NVML 未列出的进程",
    "End what uses the GPU, or lower gpu_memory_utilization to {lower:g} or less.": (
        "请结束占用 GPU 的程序，或将 gpu_memory_utilization 降到 {lower:g} 或更低。"
    ),
    "Waiting for memory: {free}.": "正在等待显存：{free}。",
    "vLLM ran out of memory: {what}": "vLLM 内存不足：{what}",
    "{free} of {total} GiB are free on {device}, and gpu_memory_utilization {share} asks for {wanted} GiB.": (
        "{device} 上共 {total} GiB，空闲 {free} GiB，而 gpu_memory_utilization {share} 需要 {wanted} GiB。"
    ),
    "Lower gpu_memory_utilization to {lower} or less, or end what else uses the device.": (
        "请将 gpu_memory_utilization 降到 {lower} 或更低，或结束占用该设备的其他程序。"
    ),
    "a context of {length} tokens needs {wanted} GiB of KV cache, and {free} GiB are free for it.": (
        "{length} 个词元的上下文需要 {wanted} GiB KV 缓存，而可用的只有 {free} GiB。"
    ),
    "{limit}, or raise gpu_memory_utilization (on a CPU: VLLM_CPU_KVCACHE_SPACE, in GiB).": (
        "{limit}，或提高 gpu_memory_utilization（CPU 上为 VLLM_CPU_KVCACHE_SPACE，单位 GiB）。"
    ),
    "Set max_model_len to {tokens} or less": "请将 max_model_len 设为 {tokens} 或更小",
    "Lower max_model_len": "请降低 max_model_len",
    "the weights leave nothing for the KV cache.": "权重占满后没有空间留给 KV 缓存。",
    "Raise gpu_memory_utilization, choose a smaller or quantized model, or raise tensor_parallel_size.": (
        "请提高 gpu_memory_utilization，选择更小或量化的模型，或提高 tensor_parallel_size。"
    ),
    "{free} of {total} GiB of the machine's memory are free, and the KV cache asks for {wanted} GiB.": (
        "本机内存共 {total} GiB，空闲 {free} GiB，而 KV 缓存需要 {wanted} GiB。"
    ),
    "Close other programs, or set VLLM_CPU_KVCACHE_SPACE (GiB) lower.": (
        "请关闭其他程序，或调低 VLLM_CPU_KVCACHE_SPACE（GiB）。"
    ),
    "{wanted} more were needed, and {free} were free.": "还需 {wanted}，而空闲的只有 {free}。",
    "Lower gpu_memory_utilization or max_num_seqs, choose a smaller or quantized model, or raise "
    "tensor_parallel_size.": (
        "请降低 gpu_memory_utilization 或 max_num_seqs，选择更小或量化的模型，或提高 tensor_parallel_size。"
    ),
    "the device has no more to give.": "该设备已没有空闲内存。",
    "Choose a smaller or quantized model, or lower max_model_len.": "请选择更小或量化的模型，或降低 max_model_len。",
    # Loading
    "vLLM cannot load this: {why}.": "vLLM 无法加载：{why}。",
    "Change the setting it names and run again.": "请修改其中提到的设置，然后再次运行。",
    "Suffix decoding needs the package arctic-inference, which is not installed.": (
        "suffix 解码需要 arctic-inference 包，但尚未安装。"
    ),
    "Install it: pip install --no-deps --no-build-isolation arctic-inference==0.1.1": (
        "请安装：pip install --no-deps --no-build-isolation arctic-inference==0.1.1"
    ),
    "The model wants to run Python of its own, which is not allowed.": "该模型要运行自带的 Python 代码，这不被允许。",
    "Starting vLLM.": "正在启动 vLLM。",
    "Starting vLLM's engine.": "正在启动 vLLM 的引擎。",
    "vLLM runs it as {what}.": "vLLM 按 {what} 运行它。",
    "Loading the weights.": "正在加载权重。",
    "Weight files: {what}.": "权重文件：{what}。",
    "Loading the draft.": "正在加载草稿。",
    "Compiling the model.": "正在编译模型。",
    "KV cache for {what} tokens.": "KV 缓存可容纳 {what} 个词元。",
    "Capturing CUDA graphs.": "正在捕获 CUDA 图。",
    # The run
    "This engine was loaded to draft {loaded}, not {asked}.": "该引擎加载时的起草设置为{loaded}，而非{asked}。",
    "nothing": "不起草",
    "{k} tokens by {method}": " {method}、{k} 个词元",
    "Run it on an engine loaded for it.": "请在为此加载的引擎上运行。",
    "The prompt has {prompt:,} tokens, the context of {target} holds {limit:,} with the answer.": (
        "提示词有 {prompt:,} 个词元，而 {target} 的上下文连同回答只能容纳 {limit:,} 个。"
    ),
    "Shorten the prompt, or raise max_model_len if the model and the memory allow it.": (
        "请缩短提示词；若模型与内存允许，也可提高 max_model_len。"
    ),
    "vLLM refuses this run: {why}.": "vLLM 拒绝此次运行：{why}。",
    "vLLM does not apply min_p while it speculates.": "vLLM 在推测解码时不支持 min_p。",
    "Set min_p to 0, or run without speculation.": "请将 min_p 设为 0，或不用推测解码运行。",
    "vLLM's engine failed: {why}.": "vLLM 的引擎出错：{why}。",
    "vLLM raises the temperature to {lowest}.": "vLLM 会把温度提高到 {lowest}。",
    "The trace was not tried with vLLM {version}; its counters are compared in every run.": (
        "逐步记录未在 vLLM {version} 上试过；每次运行都会与它的计数比对。"
    ),
    "vLLM put out {n} tokens where its scheduler told of other steps.": (
        "vLLM 输出了 {n} 个词元，与其调度器所述的步不符。"
    ),
    "In step {where} vLLM accepted {a} of {k} draft tokens.": "第 {where} 步中 vLLM 接受了 {k} 个草稿词元中的 {a} 个。",
    "In step {where} vLLM put out {delivered} tokens with {a} accepted.": (
        "第 {where} 步中 vLLM 输出 {delivered} 个词元，却只接受了 {a} 个。"
    ),
    "In step {where} an accepted draft token is not the one that was put out.": (
        "第 {where} 步中被接受的草稿词元与输出的词元不同。"
    ),
    "vLLM's list of drafted and accepted tokens per step differs from the trace.": (
        "vLLM 给出的每步起草与接受数与逐步记录不同。"
    ),
}
