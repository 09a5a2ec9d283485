import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { normaliseText } from '../documents/markdown.ts';
import { createPrompts, PROMPT_NAMES, type PromptName, type Prompts } from './prompts.ts';

/** The prompts for a repository: its own under `agentos/prompts/`, ours for the rest. */
export async function loadPrompts(directory: string): Promise<Prompts> {
  const overrides = new Map<PromptName, { file: string; text: string }>();
  for (const name of PROMPT_NAMES) {
    const file = join(directory, `${name}.md`);
    try {
      overrides.set(name, { file, text: normaliseText(await readFile(file, 'utf8')) });
    } catch (error) {
      if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') continue;
      throw new AgentosError(
        { code: 'prompt-invalid', file, reason: systemCode(error) ?? String(error) },
        { cause: error },
      );
    }
  }
  return createPrompts(overrides);
}
