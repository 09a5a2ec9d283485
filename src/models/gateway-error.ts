import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { fieldsOf } from './json-fields.ts';

/** An error that our own gateway raised, as it was raised: it stands beside the vendor's words, in a field of its own. */
export function gatewayError(event: unknown): AgentosError | null {
  const body = fieldsOf(event);
  const error = fieldsOf(body['error'] ?? fieldsOf(body['response'])['error']);
  return revived(error['agentos'] ?? body['agentos']);
}

/** The same from a header, where nothing but an error was sent. */
export function gatewayErrorIn(header: string | null): AgentosError | null {
  if (header === null) return null;
  try {
    return revived(JSON.parse(header));
  } catch {
    return null;
  }
}

function revived(record: unknown): AgentosError | null {
  const { problem, retry } = fieldsOf(record);
  if (typeof fieldsOf(problem)['code'] !== 'string') return null;
  return new AgentosError(problem as ErrorRecord['problem'], { retry: retry as ErrorRecord['retry'] });
}
