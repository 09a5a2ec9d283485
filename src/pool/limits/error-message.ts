import { fieldsOf, textOf } from '../../models/json-fields.ts';

/** The words of an error's body, in any vendor's form; empty where there are none. */
export function errorMessage(body: unknown): string {
  const whole = fieldsOf(Array.isArray(body) ? body[0] : body);
  return textOf(fieldsOf(whole['error'] ?? whole)['message']) ?? '';
}
