/** What a provider or a command-line agent prints when there is no answer. */
const BANNERS = [
  /^\s*<(?:!doctype|html|head|\?xml)\b/i,
  /\bapi error\b/i,
  /\b(?:error|status|http)(?: code)?[:\s/.\d]*\s*(?:4\d\d|5\d\d)\b/i,
  /^\W*(?:4\d\d|5\d\d)\b[\s:{-]/,
  /\boverloaded\b/i,
  /\b(?:usage|rate|quota|spending|message|request|token)[\s-]?limit(?:s|ed)?\b|\btoo many requests\b|\bquota (?:exceeded|exhausted)\b|\bresource_exhausted\b/i,
  /\b(?:internal server error|bad gateway|service (?:temporarily )?unavailable|gateway time-?out|server error)\b/i,
  /\bcredit balance\b|\binsufficient (?:credits?|funds|quota)\b|\bbilling\b/i,
  /\b(?:invalid|incorrect|missing|expired)\b.{0,20}\b(?:api[\s-]?key|credentials?|token)\b|\b(?:authentication|permission)_?\s?error\b|\bunauthori[sz]ed\b|\bplease run \/login\b/i,
  /\b(?:i'm|i am|we're|we are) sorry\b|\bi (?:can(?:'|’)?t|cannot|am unable to|am not able to|won't) (?:help|assist|review|provide|complete|process|do|comply|continue|access)\b/i,
  /\b(?:context (?:length|window)|prompt is too long|maximum context|max(?:imum)? tokens)\b/i,
  /\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)\b|\b(?:request|connection|operation) (?:timed out|aborted|refused|error|failed)\b|\bfetch failed\b/i,
  /^\W*(?:error|fatal|exception|traceback)\b/i,
];

const STARTS_WITH_ERROR =
  /^\W*(?:api error|error\b|fatal\b|exception\b|traceback\b|[45]\d\d\b|(?:i'm|i am) sorry\b)|^\s*<(?:!doctype|html)/i;
const LONGEST_BANNER = 4000;

/** Whether text without any structure of a review, and without a verdict, is an error message or a refusal. */
export function isErrorBanner(text: string): boolean {
  if (text.length > LONGEST_BANNER) return startsWithError(text);
  const head = text.slice(0, 500).replace(/’/g, "'");
  return BANNERS.some((pattern) => pattern.test(head));
}

/** The plainest case: what follows, a verdict even, is the error's own text. */
export function startsWithError(text: string): boolean {
  return STARTS_WITH_ERROR.test(text.slice(0, 200).replace(/’/g, "'"));
}

/** `{"error": …}` and `{"type": "error", …}`, from any vendor. */
export function isErrorObject(value: object): boolean {
  const kind = 'type' in value ? value.type : undefined;
  return kind === 'error' || ('error' in value && Boolean(value.error)) || ('errors' in value && Boolean(value.errors));
}
