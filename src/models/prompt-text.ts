import type { PromptPart } from './port.ts';

/** The pieces of a prompt as one text, with a blank line between them. */
export function promptText(parts: readonly PromptPart[]): string {
  return parts
    .map((part) => part.text)
    .filter((text) => text !== '')
    .join('\n\n');
}
