/** Why a server refuses a request, by its status and its message. */
export type RefusalKind =
  /** The key is wrong, or has no permission. All requests would fail. */
  | "key"
  /** The account has no credit left, or it is blocked. All requests would fail. */
  | "credit"
  /** The content of this prompt. */
  | "content"
  /** Status 403 without a word about the key or the content. */
  | "forbidden"
  /** The prompt does not fit, alone or with the tokens of the answer. */
  | "too-long"
  /** The tokens of the answer are more than the model writes. */
  | "max-tokens"
  /** Something that may pass. */
  | "temporary"
  /** The address, the model's name or a field. All requests like this one would fail. */
  | "configuration"
  /** Anything else about this request. */
  | "request";

/** Words about an account that can pay for no request. */
const credit = [
  /credit balance is too low|balance (is )?(insufficient|negative|depleted|exhausted)/,
  /(insufficient|not[ _]enough) (account )?(balance|credits?|funds)|not_enough_balance|insufficient_user_quota/,
  /no (remaining|available|more) credits?|no credits? (left|remaining|available)|out of credits/,
  /credits? (is|are|have been|has been) (depleted|exhausted|used up)|exceeded your (monthly )?(included )?credits/,
  /used all (of )?((your|its) )?(available )?credits/,
  /unpaid (balance|invoices?|bills?)|overdue balance|accountoverdue|arrearage|in ?arrears|good standing/,
  /billing[ _](hard[ _])?limit|requires billing|billing_not_active|payment method|credit card on file/,
  /account\b[^.]{0,60}\b(is|has been|was) (currently )?(suspended|deactivated|disabled|overdue|locked|blocked)/,
  /organization (has been|is) (disabled|suspended)/,
  /account_deactivated|organization_restricted|key limit exceeded/,
  /reached your specified api usage limits|have any credits/,
  /credit[ _]limit|spend(ing)?[ _]limit|blocked_api_access/,
  // Zhipu, Tencent, new-api and others: no balance, no quota, an expired plan, a locked account.
  /余额不足|欠费|额度不足|额度已(用尽|耗尽)|套餐已到期|账[号户]已?被?(锁定|冻结|停用|封禁)/,
];

/** Words about credit that some servers also use for the limit of a minute. Then they say how long to wait. */
const quota = /insufficient_quota|exceeded (your|the) current quota|exceeded_current_quota/;

/** The limit of a day, for which Google asks to wait less than a minute. `limit: 0` is a model that is not included. */
const dayQuota = /perday|per-day|limit: 0\b/;

/** The limit of a day or a month, from servers that say how long to wait if that helps. */
const longQuota = /(per|\/) ?(day|week|month)\b|daily|weekly|monthly/;

/** Words about a field of the request. Its name may be a word about content, such as `moderation`. */
const field = [
  /(unknown|unrecogni[sz]ed|unsupported|unexpected) ([\w-]+ ){0,3}(parameters?|arguments?|fields?|propert(y|ies)|keywords?)\b/,
  /(parameter|argument|field|property) ["'`]?[\w.-]+["'`]? is (unsupported|unknown|not (supported|allowed|permitted|recogni[sz]ed))/,
  /cannot find field|extra_forbidden|extra inputs|additional propert|guardrail ?(identifier|id|version)\b/,
];

const model = [
  /\bmodels?\b[^.]{0,80}\b(does not|doesn't|not) (exist|found)|model_not_found|deployment_?not_?found/,
  /\bdeployment\b[^.]{0,80} does not exist|(not a valid|invalid|unknown|no such) model\b|模型不存在/,
];

const loading =
  /\b(model|server|engine|deployment)\b[^.]{0,60} (is |are )?(currently |still )?(loading|not ready|warming up|starting)\b|^loading model/;

const content = [
  /\b(flagged|moderation|inappropriate|harmful|unsafe)\b/,
  /\bcontent[ _]?(filter|policy|management policy|moderation|violat)/,
  /usage (policy|policies|guidelines)/,
  /safety[_ ](check|system|filter|polic|guideline|setting|violation)/,
  /violat\w* (our|the|its|a) |content exists risk|data_?inspection|prohibited_content|prohibited content/,
  /responsible ai|guardrail|sensitive (content|information|word)|new_sensitive|nsfw|prompt[ _]injection/,
  /blocked (input|output)\b|\b(prompt|input|output|response|content) (is|was) (blocked|filtered)\b/,
  // Zhipu, Qwen and others: sensitive, unsafe or against the rules.
  /敏感|不安全|违规/,
];

const key = [
  /api[ _-]?key[^.]{0,20} (is |was |has been )?(not valid|invalid|expired|not found|does not exist|revoked|deleted)/,
  /(incorrect|invalid|expired|missing|wrong) (api|x-api)[ _-]?(key|token)|api_key_invalid/,
  /(无效|错误|过期)的? ?(api ?key|令牌|密钥)|(api ?key|令牌|密钥) ?(无效|错误|不存在|已过期)/,
  /security token[^.]* is invalid|user location is not supported|api has not been used in project/,
];

/** Words of a status 403 about the permissions of the key. */
const access = /api[ _-]?key|permission|access|credential|authenticat|authori[sz]|country|region|subscription|token/;

const tooLong = [
  // OpenAI, Azure, Groq, Cerebras, DeepSeek, OpenRouter, older vLLM.
  /context_length_exceeded|maximum context length|string_above_max_length/,
  /(exceed|overflow|longer|larger|greater|too long|too large)[^.]*context (length|window|size|limit)/,
  /context (length|window|size|limit)[^.]*(exceed|overflow)/,
  /reduce the length of the (messages|prompt|input)/,
  // Anthropic, Bedrock, Fireworks, Ollama.
  /(prompt|input|inputs|request|conversation) (is |are |was )?too (long|large)|request_too_large|prompt_too_long/,
  /input length and `?max_tokens`? exceed/,
  /too many input tokens|too many tokens:/,
  // xAI, GitHub Models.
  /maximum prompt length|max_prompt_tokens/,
  // Gemini, Vertex, TensorRT-LLM, SGLang, watsonx, Nova.
  /(input|prompt) (token )?(count|length)\b[^.]*(exceed|supports up to)/,
  /(input|prompt)[^.]{0,40} tokens?\b[^.]{0,40}(exceed|longer than)/,
  /requested token count exceeds|number of input tokens[^.]*exceed/,
  // vLLM, TensorRT-LLM.
  /longer than the (maximum model length|model's context)/,
  /(exceed|larger than|greater than|longer than) (the )?`?(max_(seq|model|num|input)_(len|tokens)|maximum (model|sequence) length)/,
  /default_max_tokens[^.]*must be greater than 0/,
  // llama.cpp, LM Studio.
  /exceed_context_size|available context size|context length of only|reached context length/,
  // SGLang, TGI, DashScope, Moonshot, Zhipu.
  /context length is only|must have less than \d+ tokens/,
  /`?inputs?`? tokens \+ `?max_new_tokens`?[^.]*must be <=/,
  /max_tokens must be at least 1, got -|expected maxlength: \d+, actual: \d+/,
  /range of input length|exceeded model token limit|prompt exceeds max/,
];

const maxTokens = /max_tokens|max_completion_tokens|max_new_tokens|max_output_tokens|maxoutputtokens/;
const tooMany =
  /too (large|many|high)|at most|less than or equal|<=|valid range|supported range|range of|maximum (allowed )?(number|value)|cannot (exceed|be greater)|exceed/;

/**
 * Returns the kind of a refusal. `text` is its message and `body` the whole answer. `waits` is true if the server
 * says when to try again. `fields` are the fields of the request that can be left out.
 */
export function refusalKind(answer: {
  readonly status: number;
  readonly text: string;
  readonly body: string;
  readonly waits: boolean;
  readonly fields: readonly string[];
}): RefusalKind {
  const { status, waits, fields } = answer;
  const text = answer.text.toLowerCase();
  if (status === 401) return "key";
  if (status === 402 || credit.some((words) => words.test(text))) return "credit";
  if (status === 429) return limitKind({ text, body: answer.body.toLowerCase(), waits });
  if (status < 500 && field.some((words) => words.test(text))) return "configuration";
  if (status < 500 && content.some((words) => words.test(text))) return "content";
  if (status < 500 && key.some((words) => words.test(text))) return "key";
  if (status < 500 && quota.test(text) && !waits) return "credit";
  if (status === 413 || (status !== 503 && tooLong.some((words) => words.test(text)))) return "too-long";
  if (loading.test(text)) return "temporary";
  // A page is that of a proxy, whose words say little.
  if (status === 403) return access.test(text) && !/^\s*</.test(answer.body) ? "key" : "forbidden";
  if (isTemporary(status) || /capacity[ _]exceeded/.test(text)) return "temporary";
  if (maxTokens.test(text) && tooMany.test(text)) return "max-tokens";
  const isOfAll =
    isAddress(status) || model.some((words) => words.test(text)) || refusedField(text, fields) !== undefined;
  return isOfAll ? "configuration" : "request";
}

/** A redirection, 404 not found, 405 method not allowed, 501 not implemented. */
function isAddress(status: number): boolean {
  return (status >= 300 && status < 400) || status === 404 || status === 405 || status === 501;
}

function limitKind({ text, body, waits }: { readonly text: string; readonly body: string; readonly waits: boolean }) {
  if (dayQuota.test(body)) return "credit";
  if (!waits && (quota.test(text) || longQuota.test(text))) return "credit";
  // One request with more tokens than the limit of a minute never passes.
  return /request too large for/.test(text) ? "too-long" : "temporary";
}

/**
 * 408 timeout, 409 lock, 424 failed dependency (the model behind a gateway), 425 too early, 499 closed connection, 5xx
 * server errors except 501 (not implemented).
 */
function isTemporary(status: number): boolean {
  return [200, 408, 409, 424, 425, 499].includes(status) || (status >= 500 && status !== 501);
}

/** True if the tokens of the answer are a part of why a prompt does not fit. */
export function namesMaxTokens(text: string): boolean {
  return maxTokens.test(text.toLowerCase()) || /in the completion/.test(text.toLowerCase());
}

/** Returns the field of a request that a server does not support, if its message names one of them. */
export function refusedField(text: string, fields: readonly string[]): string | undefined {
  const refuses =
    /unsupported|not support|n't support|unrecognized|unknown|not permitted|not allowed|deprecated|extra_forbidden|only the default|cannot be (used|specified)|may only be set/i;
  if (!refuses.test(text)) return undefined;
  const at = (field: string): number => text.search(new RegExp(`(?<![\\w])${field}(?![\\w])`));
  const named = fields.filter((field) => at(field) !== -1);
  return named.sort((one, other) => at(one) - at(other))[0];
}
