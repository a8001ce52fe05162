"""What benchmarks, tuning, training, the store and the tabs refuse, in Chinese, by its own English."""

CHINESE: dict[str, str] = {
    # Benchmarks and tuning
    "One is running already.": "已有一个正在运行。",
    "Stop it, or wait for its end.": "请停止它，或等待其结束。",
    "{name} is running.": "{name} 正在运行。",
    "{benchmark} is running.": "{benchmark} 正在运行。",
    "Stop it first.": "请先停止它。",
    "There is nothing to measure: no drafting method is chosen.": "没有可测的内容：未选择起草方法。",
    "There is nothing to tune: no drafting method is chosen.": "没有可调优的内容：未选择起草方法。",
    "No earlier benchmark is chosen.": "没有选择以前的基准测试。",
    "No earlier tuning is chosen.": "没有选择以前的调优。",
    "Nothing measured yet.": "尚无测量结果。",
    "config.speculation: there is nothing to compare without a drafting method": (
        "config.speculation：没有起草方法就没有可比较的内容"
    ),
    "The engine {engine} runs one request at a time, so there is no concurrency to measure.": (
        "引擎 {engine} 一次只处理一个请求，因此没有并发可测。"
    ),
    "The engine {engine} runs one request at a time, so there is no concurrency to tune for.": (
        "引擎 {engine} 一次只处理一个请求，因此没有并发可调优。"
    ),
    "Leave the levels out, or choose an engine that serves several, such as vllm.": (
        "请不填并发级别，或选择可同时处理多个请求的引擎，如 vllm。"
    ),
    "There is no server without speculation to measure the baseline on, next to the other arm.": (
        "没有不用推测解码的服务器来与另一侧一同测量基线。"
    ),
    "Give its address as baseline_url.": "请将其地址填入 baseline_url。",
    "The benchmark was ended, since its runs fail: {why}": "运行失败，基准测试已结束：{why}",
    "The tuning was ended, since its runs fail: {why}": "运行失败，调优已结束：{why}",
    "no reason given": "未说明原因",
    "Try one of its prompts in the Compare tab.": "请在“对比”页试其中一个提示词。",
    "A run was cancelled from outside.": "一次运行被外部取消。",
    "Resume the benchmark.": "请继续该基准测试。",
    "Resume the tuning.": "请继续该调优。",
    "{benchmark} is a tuning, no benchmark.": "{benchmark} 是调优，不是基准测试。",
    "{tuning} is a benchmark, no tuning.": "{tuning} 是基准测试，不是调优。",
    "Open it there.": "请在那里打开。",
    "{tuning} has no report yet.": "{tuning} 尚无报告。",
    "Run or resume it.": "请运行或继续它。",
    "There is nothing to keep yet: {why}": "尚无可保存的结果：{why}",
    "Go on with the tuning.": "请继续调优。",
    "The runs behind this tuning were deleted.": "此次调优所依据的运行已被删除。",
    "Tune again.": "请重新调优。",
    "With the engine {engine} k is decided where the server is started, so there is none to tune.": (
        "对引擎 {engine} 而言，k 在启动服务器时确定，因此无可调优。"
    ),
    "Tune with an engine on this machine, and take the preset to the server.": (
        "请用本机的引擎调优，再把预设带到服务器上。"
    ),
    "{count} combinations are more than {most}": "{count} 种组合超过上限 {most}",
    "throughput is ranked at a number of requests at once: give a level above 1": (
        "吞吐量按同时请求数排名：请填写大于 1 的并发级别"
    ),
    "{option} is an option of none of these methods.": "{option} 不是这些方法的选项。",
    "“{text}” is no OPTION=A,B.": "“{text}”不是 OPTION=A,B 的形式。",
    "Write prompt_lookup_max=3,5,8.": "请写成 prompt_lookup_max=3,5,8。",
    "“{text}” is no list of numbers.": "“{text}”不是数字列表。",
    "Write 0,0.8.": "请写成 0,0.8。",
    "There is no benchmark “{benchmark}”.": "没有基准测试“{benchmark}”。",
    "`python -m playground bench --list` and the Benchmark tab name those there are.": (
        "`python -m playground bench --list` 与“基准测试”页会列出现有的。"
    ),
    "The program ended while it ran.": "运行期间程序退出。",
    "Resume it.": "请继续它。",
    "{n} at once": "并发 {n}",
    "warm-up": "预热",
    "{phase}: {prompt}": "{phase}：{prompt}",
    "recording": "记录",
    "timing": "计时",
    "measuring": "测量",
    "measuring everything": "测量全部",
    "Waiting: {position} before this one.": "等待中：前面还有 {position} 个。",
    # Training
    "There is no head called “{name}” yet.": "尚无名为“{name}”的草稿头。",
    "Train it first.": "请先训练它。",
    "“{name}” is no name for a head.": "“{name}”不能作为草稿头的名称。",
    "Use letters, digits, dots, dashes and underscores, 64 at most.": (
        "请用字母、数字、点、连字符与下划线，至多 64 个。"
    ),
    "There is no file {file}.": "没有文件 {file}。",
    "Correct its path.": "请更正其路径。",
    "The folder {out} is not empty and holds no training.": "文件夹 {out} 非空，且其中没有训练。",
    "Choose another one.": "请另选一个。",
    "The folder {out} holds a training with other options: {options}.": "文件夹 {out} 中的训练选项不同：{options}。",
    "Choose another folder, give the same options to go on with it, or --restart to begin anew.": (
        "请另选文件夹，或给出相同选项以继续，或用 --restart 重新开始。"
    ),
    "The folder {out} cannot be written: {why}.": "无法写入文件夹 {out}：{why}。",
    "A training in {out} is running already, as process {pid}.": "{out} 中的训练已在运行，进程 {pid}。",
    "Wait for it, or stop it.": "请等待它，或停止它。",
    "The training's process ended {how}.": "训练进程已结束（{how}）。",
    "The training's process ended {how}; its last line: {words}.": "训练进程已结束（{how}）；最后一行：{words}。",
    "by signal {number}": "信号 {number}",
    "with exit code {number}": "退出码 {number}",
    "Start it again with the same folder: it goes on from its last checkpoint.": (
        "请用同一文件夹重新启动：它会从最后的检查点继续。"
    ),
    "{n} exchanges are too few to train on and to judge by.": "{n} 段对话不足以用于训练与评估。",
    "Ask for more tokens.": "请要求更多词元。",
    "{target} writes no usable prompts of its own.": "{target} 自己写不出可用的提示词。",
    "Give a file of prompts, or exchanges written before.": "请给出提示词文件，或以前写好的对话。",
    "There is no EAGLE-3 head in {folder}.": "{folder} 中没有 EAGLE-3 草稿头。",
    "Name the folder with its config.json and model.safetensors, or begin without one.": (
        "请指定含 config.json 与 model.safetensors 的文件夹，或不以现有草稿头开始。"
    ),
    "Line {number} of {file} is no exchange in this target's token ids.": (
        "{file} 第 {number} 行不是以该目标模型词元 id 写成的对话。"
    ),
    "Give exchanges.jsonl of a training for the same target: prompt_ids, ids and temperature per line.": (
        "请给出同一目标模型训练所写的 exchanges.jsonl：每行有 prompt_ids、ids 与 temperature。"
    ),
    "The exchanges in {file} cannot be read: {why}.": "无法读取 {file} 中的对话：{why}。",
    "Give a file that a training has written.": "请给出训练所写的文件。",
    "Hidden states before layers {layers} were asked of {n} layers.": (
        "要求第 {layers} 层之前的隐藏状态，而模型共有 {n} 层。"
    ),
    "Name ascending layers from 0 to {last}, or none.": "请给出 0 到 {last} 之间递增的层号，或不填。",
    "{kind} is not Llama-like: it does not say the sizes a head needs.": (
        "{kind} 不是类 Llama 结构：它没有给出草稿头所需的尺寸。"
    ),
    "Train heads for Llama, Mistral, Qwen, SmolLM and their like.": (
        "可为 Llama、Mistral、Qwen、SmolLM 等模型训练草稿头。"
    ),
    "The hidden states need {need:.1f} GB, {free:.1f} GB are free in {folder}.": (
        "隐藏状态需要 {need:.1f} GB，而 {folder} 只空闲 {free:.1f} GB。"
    ),
    "Train on fewer tokens, on another disk, or without keeping them (states: none).": (
        "请用更少的词元训练，换一个磁盘，或不保存它们（states: none）。"
    ),
    # The store
    "There is no run “{run}”.": "没有运行“{run}”。",
    "It may have been deleted; the History tab and `python -m playground runs` list those there are.": (
        "它可能已被删除；“历史”页与 `python -m playground runs` 会列出现有的。"
    ),
    "Run {run} is still recording.": "运行 {run} 仍在记录。",
    "Stop it first, then delete it.": "请先停止它，再删除。",
    "Run {run} is stored already.": "运行 {run} 已存在。",
    "The run was deleted while it was being recorded.": "该运行在记录期间被删除。",
    "Run it again to keep it.": "请再次运行以保存。",
    "Runs cannot be sorted by “{sort}”.": "运行不能按“{sort}”排序。",
    "Choose one of: {known}.": "可选：{known}。",
    "Choose of: {known}.": "可选：{known}。",
    "The program ended while this run was recording.": "此运行记录期间程序退出。",
    "Run it again.": "请再次运行。",
    "The database {path} failed: {why}.": "数据库 {path} 出错：{why}。",
    "Check the disk and its free space; what was recorded before is still there.": (
        "请检查磁盘及其剩余空间；此前的记录仍在。"
    ),
    "The database {path} cannot be opened for writing: {why}.": "无法以写入方式打开数据库 {path}：{why}。",
    "Give the file and its folder to this user, or choose another with DRAFTBOARD_DATABASE=/some/file.db.": (
        "请把该文件及其文件夹的权限给该用户，或用 DRAFTBOARD_DATABASE=/some/file.db 另选一个。"
    ),
    "The database {path} is locked by another program.": "数据库 {path} 被其他程序锁定。",
    "Close what holds it (another Draftboard, a database browser with unsaved changes) and try again.": (
        "请关闭占用它的程序（另一个 Draftboard、有未保存更改的数据库浏览器）后再试。"
    ),
    "The disk of {path} is full.": "{path} 所在的磁盘已满。",
    "Free some space (old runs can be deleted in the History tab), then run again.": (
        "请腾出空间（可在“历史”页删除旧的运行），然后再次运行。"
    ),
    "The file {path} is damaged or no SQLite database.": "文件 {path} 已损坏，或不是 SQLite 数据库。",
    "Move it away to start afresh, or try to save its runs: sqlite3 {path} .recover | sqlite3 saved.db": (
        "请移走它以重新开始，或尝试挽救其中的运行：sqlite3 {path} .recover | sqlite3 saved.db"
    ),
    "The database is another program's: it has a table runs that is not Draftboard's.": (
        "该数据库属于其他程序：其中的 runs 表不是 Draftboard 的。"
    ),
    "Choose another file with DRAFTBOARD_DATABASE=/some/file.db.": (
        "请用 DRAFTBOARD_DATABASE=/some/file.db 另选文件。"
    ),
    "The database was written by a newer version of Draftboard.": "该数据库由更新版本的 Draftboard 写入。",
    "Update Draftboard, or choose another file with DRAFTBOARD_DATABASE=/some/file.db.": (
        "请更新 Draftboard，或用 DRAFTBOARD_DATABASE=/some/file.db 另选文件。"
    ),
    # Runs from a file
    "Line {number} cannot be imported: {why}.": "无法导入第 {number} 行：{why}。",
    "Import a file that the History tab or `python -m playground runs --export` wrote; nothing of it was stored.": (
        "请导入“历史”页或 `python -m playground runs --export` 写出的文件；未存入任何内容。"
    ),
    "Line {number} cannot be imported: another run has the id {run}.": (
        "无法导入第 {number} 行：另一运行的 id 为 {run}。"
    ),
    "Delete that run first, or leave this line out; nothing of the file was stored.": (
        "请先删除那个运行，或去掉此行；未存入文件的任何内容。"
    ),
    "it is longer than {mib} MiB": "超过 {mib} MiB",
    "it is no JSON ({why})": "不是 JSON（{why}）",
    "it is no exported run": "不是导出的运行",
    "{where}.type must be one of {known}": "{where}.type 必须是以下之一：{known}",
    "{where}: {a} of {k} draft tokens accepted cannot be": "{where}：{k} 个草稿词元不可能接受 {a} 个",
    "events go on after RunFinished": "RunFinished 之后还有事件",
    "it has more than one RunStarted": "有不止一个 RunStarted",
    "its steps are not numbered upwards from 0": "其步没有从 0 起递增编号",
    "The run was exported before it ended.": "该运行在结束前被导出。",
    # The tabs
    "There is no prompt yet.": "还没有提示词。",
    "Write one, or click an example.": "请写一个，或点击示例。",
    "No run is selected.": "没有选择运行。",
    "Select one first.": "请先选择一个。",
    "{n} runs are too many at once.": "一次 {n} 个运行过多。",
    "Select fewer.": "请少选一些。",
    "One run or two can be shown.": "可显示一个或两个运行。",
    "Select one or two.": "请选择一个或两个。",
    "That is the same run twice.": "两个是同一次运行。",
    "Select two different ones.": "请选择两个不同的。",
    "the two runs had different prompts": "两次运行的提示词不同",
    "the two runs had different target models": "两次运行的目标模型不同",
    "the two runs had different dtypes": "两次运行的 dtype 不同",
    "the two runs had different sampling settings": "两次运行的采样设置不同",
    "No pair is chosen.": "没有选择模型对。",
    "Choose a target and a draft model.": "请选择目标模型与草稿模型。",
    "“{text}” is no number of tokens.": "“{text}”不是词元数。",
    "Give one from 1 to {most:,}.": "请填写 1 到 {most:,}。",
    "Nothing has been measured here yet: run something first, or open a run from History.": (
        "此处尚无测量：请先运行，或从历史中打开一次运行。"
    ),
    "The page asked for something odd: {why}.": "页面的请求有误：{why}。",
    "The page is older than the server.": "页面比服务器旧。",
    "Reload it.": "请重新加载。",
}
