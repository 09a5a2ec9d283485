import { AgentosError, type ErrorRecord, type Problem, toErrorRecord } from '../core/errors.ts';
import { wordingOf } from '../core/wording.ts';
import type { Headers } from './headers.ts';
import type { Failure, WireFormat } from './vendors/format.ts';

/** Where our own clients find an error as it was classified here, whatever the vendor's shape made of it. */
export const ERROR_HEADER = 'x-agentos-error';

/** What a caller gets, in the status that its client acts on: it retries 429 and 5xx by itself, 402 and 4xx not. */
export function failureOf(error: unknown, format: WireFormat): Failure {
  const record = shortened(toErrorRecord(error instanceof AgentosError ? error : hidden(error)));
  const { message, hint } = wordingOf(record.problem);
  return {
    status: statusOf(record.problem, record.retry === 'quota', format),
    message: hint === null ? message : `${message} ${hint}`,
    retryAfterMs: record.problem.code === 'provider-quota' ? record.problem.retryAfterMs : null,
    record,
  };
}

/** A defect of ours: its stack is for our own records, not for callers. */
function hidden(error: unknown): AgentosError {
  const detail = error instanceof Error ? error.message : String(error);
  return new AgentosError({ code: 'internal', detail: `the gateway failed: ${detail}` });
}

/** Clients refuse headers of more than some kilobytes. */
const MAX_DETAIL_CHARS = 1_000;

function shortened({ problem, retry }: ErrorRecord): ErrorRecord {
  if (!('detail' in problem)) return { problem, retry };
  return { problem: { ...problem, detail: problem.detail.slice(0, MAX_DETAIL_CHARS) }, retry };
}

function statusOf(problem: Problem, comesBack: boolean, format: WireFormat): number {
  switch (problem.code) {
    case 'provider-quota':
      return comesBack ? 429 : 402;
    case 'over-budget':
      return 402;
    case 'provider-rejected-key':
      return 401;
    case 'provider-overloaded':
      return format.overloadedStatus;
    case 'provider-refused-request':
      return problem.status ?? 400;
    case 'provider-unreachable':
    case 'provider-bad-reply':
    case 'reply-empty':
    case 'reply-too-large':
      return 502;
    case 'call-idle':
    case 'call-ceiling':
      return 504;
    case 'key-missing':
      return 401;
    case 'usage':
      return 400;
    case 'item-timeout':
    case 'run-timeout':
    case 'interrupted':
      return 503;
    default:
      return 500;
  }
}

export function failureHeaders({ retryAfterMs, record }: Failure): Headers {
  return {
    'content-type': 'application/json',
    ...recordHeader(record),
    'x-should-retry': String(record.retry !== 'permanent'),
    ...(retryAfterMs === null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
  };
}

/** Header values are ASCII. */
export function recordHeader(record: ErrorRecord): Headers {
  const text = JSON.stringify(shortened(record)).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return { [ERROR_HEADER]: text };
}
