import { AgentosError } from '../core/errors.ts';
import { applyEdits } from '../documents/lld/edits.ts';
import type { RecordedFile, RecordedStep } from './recorded-step.ts';
import { readWorktreeFile, writeWorktreeFile } from './worktree-file.ts';

export interface PlayBack {
  worktree: string;
  issue: string;
  onLine: (line: string) => void;
}

/** Writes what was recorded: all files of the step, or none of them. */
export async function playBack({ files }: RecordedStep, { worktree, issue, onLine }: PlayBack): Promise<void> {
  const changed: { path: string; text: string }[] = [];
  for (const file of files) {
    const before = await readWorktreeFile(worktree, file.path);
    const text = afterwards(file, before);
    if (text === null) throw new AgentosError({ code: 'offline-no-code', id: issue, why: 'changed', file: file.path });
    if (text !== before) changed.push({ path: file.path, text });
  }
  for (const { path, text } of changed) {
    await writeWorktreeFile(worktree, path, text);
    onLine(`recorded change to ${path}`);
  }
}

/** The file with the recorded change in it, or null where that doesn't fit. What is there already is not made twice. */
function afterwards(file: RecordedFile, before: string | null): string | null {
  if ('content' in file) return before === null || before === file.content ? file.content : null;
  if (before === null) return null;
  const missing = file.edits.filter(({ replace }) => !before.includes(replace));
  const applied = applyEdits(before, missing);
  return applied.ok ? applied.text : null;
}
