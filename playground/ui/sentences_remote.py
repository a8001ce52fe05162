"""What is said of servers elsewhere, in Chinese, by its own English."""

CHINESE: dict[str, str] = {
    # Addresses
    "is no address; write it like http://127.0.0.1:8000": "不是地址；请写成 http://127.0.0.1:8000 的形式",
    "must be an http or https address, like http://127.0.0.1:8000": (
        "必须是 http 或 https 地址，如 http://127.0.0.1:8000"
    ),
    "must hold no user, password or parameters: a key goes into DRAFTBOARD_REMOTE_KEYS": (
        "不得含用户名、密码或参数：密钥请放入 DRAFTBOARD_REMOTE_KEYS"
    ),
    "The server {url} may not be called from here.": "此处不允许访问服务器 {url}。",
    "Such addresses are called only if DRAFTBOARD_REMOTE_SERVERS names them.": (
        "只有列入 DRAFTBOARD_REMOTE_SERVERS 的此类地址才会被访问。"
    ),
    "Whoever runs Draftboard can name it in DRAFTBOARD_REMOTE_SERVERS, a JSON list of addresses.": (
        "运行 Draftboard 的人可以把它列入 DRAFTBOARD_REMOTE_SERVERS（JSON 地址列表）。"
    ),
    # Failures
    "The server {url} does not stream its answer.": "服务器 {url} 不以流式返回回答。",
    "Use a server that does.": "请使用支持流式返回的服务器。",
    "{name} cannot be asked of {server}.": "{server} 不支持 {name}。",
    "Set {name} to {default}, or name the kind of server if it is one that takes it.": (
        "请将 {name} 设为 {default}；若该服务器其实支持它，请指明服务器类型。"
    ),
    'Set the server\'s key and start again: DRAFTBOARD_REMOTE_KEYS=\'{"ADDRESS": "KEY"}\', with the address as it '
    "stands in the settings.": (
        '请设置服务器的密钥并重新启动：DRAFTBOARD_REMOTE_KEYS=\'{"ADDRESS": "KEY"}\'，地址与设置中的一致。'
    ),
    "The server {url} wants a valid key ({status}){detail}.": "服务器 {url} 要求有效的密钥（{status}）{detail}。",
    "The server {url} does not serve the model “{model}”{detail}.": "服务器 {url} 不提供模型“{model}”{detail}。",
    "The server {url} does not serve the model “{target}”.": "服务器 {url} 不提供模型“{target}”。",
    "Type the model's name as the server has it.": "请按服务器上的名称填写模型。",
    "It serves: {names}. Type one of these as the target model.": "它提供：{names}。请填写其中之一作为目标模型。",
    "There is no OpenAI-compatible interface at {url} ({status}).": "{url} 上没有 OpenAI 兼容接口（{status}）。",
    "Give the address before “/v1”, such as http://127.0.0.1:8000.": (
        "请填写“/v1”之前的地址，如 http://127.0.0.1:8000。"
    ),
    "The server {url} has too many requests (429){detail}.": "服务器 {url} 请求过多（429）{detail}。",
    "Try again later.": "请稍后再试。",
    "Try again later. It asks to wait {seconds} s.": "请稍后再试。它要求等待 {seconds} 秒。",
    "The server {url} points to another address ({status}), which is not followed.": (
        "服务器 {url} 指向另一地址（{status}），不会跟随。"
    ),
    "Give the address it points to, if it is the right one.": "若它所指的地址正确，请直接填写那个地址。",
    "The server {url} failed ({status}){detail}.": "服务器 {url} 出错（{status}）{detail}。",
    "Its log says why; try again.": "原因见其日志；请再试。",
    "The server {url} refuses this run ({status}){detail}.": "服务器 {url} 拒绝此次运行（{status}）{detail}。",
    "The server {url} cannot be reached: {why}.": "无法连接服务器 {url}：{why}。",
    "its certificate is not valid": "其证书无效",
    "it does not answer": "它没有应答",
    "Start it, or correct its address.": "请启动它，或更正其地址。",
    "The server {url} has been silent for {patience:g} s.": "服务器 {url} 已有 {patience:g} 秒没有响应。",
    "It may be overloaded; try again, or raise the option timeout.": "它可能过载；请再试，或调高 timeout 选项。",
    "The server {url} broke off the connection.": "服务器 {url} 中断了连接。",
    "The server {url} broke off in the middle of the answer: what stands here is a part of it.": (
        "服务器 {url} 在回答中途中断：此处只是其中一部分。"
    ),
    # The baseline
    "The server {url} speculates: it cannot run the baseline.": "服务器 {url} 启用了推测解码：不能运行基线。",
    "Give baseline_url, the address of the same model served without speculation.": (
        "请填写 baseline_url，即不用推测解码提供同一模型的地址。"
    ),
    "There is no baseline: no address of a server without speculation, and no stored run without it of this prompt "
    "with these settings.": "没有基线：既没有不用推测解码的服务器地址，也没有以相同设置对此提示词存下的基线运行。",
    "Give baseline_url; or start the server without speculation, run this prompt with method none, start it again "
    "with speculation, and compare.": (
        "请填写 baseline_url；或不用推测解码启动服务器，以方法 none 运行此提示词，再启用推测解码重新启动并比较。"
    ),
    "The baseline is a run recorded on {date} UTC, not measured now.": (
        "基线是 {date} UTC 记录的一次运行，并非现在测得。"
    ),
    "This server speculates, so that this run is no baseline.": "该服务器启用了推测解码，因此此次运行不是基线。",
    "Some messages held several tokens: this server speculates or sends passes together; if it speculates this run is "
    "no baseline.": "有的消息含多个词元：该服务器启用了推测解码，或合并发送；若是前者，此次运行不是基线。",
    "The server {url} does not speculate.": "服务器 {url} 没有启用推测解码。",
    # What it tells
    "Asking {url} what it serves.": "正在询问 {url} 提供什么。",
    "A first short answer from {server}.": "正在取得 {server} 的第一个简短回答。",
    "{server} does not say which tokens it sends here: outputs are compared by their text.": (
        "{server} 不说明发送的是哪些词元：输出按文本比较。"
    ),
    "{server} says how many tokens there were only at the end.": "{server} 到最后才说明共有多少个词元。",
    "{server} does not say which pass of the target its tokens came from: no colours, no tokens per step.": (
        "{server} 不说明词元来自目标模型的哪次前向：没有颜色，也没有词元/步。"
    ),
    "{server} does not say while it streams what was drafted and rejected; its own totals, if it has any, come with "
    "the end.": "{server} 在流式返回时不说明起草与拒绝了什么；若有总数，到结束时才给出。",
    "The server reports nothing of its speculation.": "服务器没有报告其推测解码的情况。",
    "The server reports nothing of its speculation (vLLM does with --per-request-spec-decode-metrics).": (
        "服务器没有报告其推测解码的情况（vLLM 需加 --per-request-spec-decode-metrics）。"
    ),
    "SGLang counts drafts as if each had full length, which n-gram drafts have not: left out.": (
        "SGLang 按每次草稿都是满长计数，而 n-gram 草稿并非如此：略去。"
    ),
    "The server's probabilities may be those before temperature and filters.": (
        "服务器给出的概率可能是温度与过滤之前的。"
    ),
    "Drafted and accepted tokens are differences of the server's own counters before and after this run.": (
        "起草与接受的词元数是服务器自身计数在此次运行前后的差。"
    ),
    "Others used the server during this run ({all} tokens by its counters, {ours} of them ours): its server-wide "
    "speculative counters are left out.": (
        "此次运行期间有他人使用该服务器（其计数为 {all} 个词元，其中 {ours} 个是我们的）：略去其全局推测解码计数。"
    ),
    "The server ended the answer with “{reason}”.": "服务器以“{reason}”结束了回答。",
    "The server sent {passes} passes in {messages} messages: colours are by message.": (
        "服务器以 {messages} 条消息发送了 {passes} 次前向：颜色按消息标注。"
    ),
    "The server reports {said:.3g} tokens per pass, its stream shows {held:.3g}.": (
        "服务器报告每次前向 {said:.3g} 个词元，其流中为 {held:.3g} 个。"
    ),
    # What does not reconcile
    "The server reports {accepted} accepted of {drafted} draft tokens.": (
        "服务器报告 {drafted} 个草稿词元中接受了 {accepted} 个。"
    ),
    "The server reports {drafted} draft tokens in {steps} passes of at most {k}.": (
        "服务器报告 {steps} 次前向（每次至多 {k} 个）起草了 {drafted} 个词元。"
    ),
    "The server's list of passes differs from its own counts.": "服务器的逐次前向列表与其自身计数不同。",
    "The server's histogram holds {held} passes, its count {steps}.": (
        "服务器的直方图有 {held} 次前向，其计数为 {steps} 次。"
    ),
    "The server's histogram holds {total} accepted draft tokens, its count {accepted}.": (
        "服务器的直方图有 {total} 个被接受的草稿词元，其计数为 {accepted} 个。"
    ),
    "The server counts {counted} tokens where it has named {sent}.": (
        "服务器计数 {counted} 个词元，却只给出了 {sent} 个。"
    ),
    "The server's count of tokens fell from {sent} to {counted}.": "服务器的词元计数从 {sent} 降到了 {counted}。",
    "The server sent {sent} tokens where at most {limit} were asked for.": (
        "服务器发送了 {sent} 个词元，而要求的至多 {limit} 个。"
    ),
    "The server counts {counted} accepted draft tokens, its stream shows {shown}.": (
        "服务器计数接受了 {counted} 个草稿词元，其流中为 {shown} 个。"
    ),
}
