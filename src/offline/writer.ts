import { readFile } from 'node:fs/promises';
import type { WriteRequest, Writer } from '../agent/port.ts';
import { locate, openWorktree } from '../agent/worktree.ts';
import { AgentosError } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import { applyEdits } from '../documents/revise/edits.ts';
import { writeFileAtomic } from '../process/files.ts';
import { untagged } from '../prompts/tags.ts';
import { type RecordedFile, recordedCode } from './recorded-code.ts';

const SPEC = 'offline';

/** Plays back recorded tests and code for the designs of the tour; any other design is refused. */
export function createOfflineWriter(): Writer {
  return {
    spec: SPEC,
    isModel: false,
    writesByItself: false,
    async write(request) {
      request.signal.throwIfAborted();
      const text = await writeRecorded(request);
      request.onProgress();
      return { text, answered: SPEC, usage: NO_USAGE, metered: true, costUsd: 0 };
    },
  };
}

async function writeRecorded(request: WriteRequest): Promise<string> {
  const { step, task, item: id } = request;
  const recording = recordedCode(untagged('lld', task) ?? '');
  if (recording === null) throw new AgentosError({ code: 'offline-no-code', id, why: 'not-recorded', file: null });
  const [, phase, round] = /^(tests|code)-(\d+)$/.exec(step) ?? [];
  const recorded = phase === 'tests' || phase === 'code' ? recording[phase][Number(round) - 1] : undefined;
  if (recorded === undefined) return 'Nothing more was recorded.';
  await writeFiles(recorded.files, request);
  return recorded.words;
}

/** Writes all files, or none of them. */
async function writeFiles(files: readonly RecordedFile[], request: WriteRequest): Promise<void> {
  const worktree = await openWorktree(request.worktree);
  const changed: { path: string; absolute: string; text: string }[] = [];
  for (const file of files) {
    const { path } = file;
    const { kind, absolute } = await locate(worktree, path, 'write').catch((error: unknown) => {
      throw new AgentosError({ code: 'output-unwritable', path, reason: String(error) }, { cause: error });
    });
    const before = kind === 'missing' ? null : await readFile(absolute, 'utf8');
    const text = withRecorded(file, before);
    if (text === null)
      throw new AgentosError({ code: 'offline-no-code', id: request.item, why: 'changed', file: path });
    if (text !== before) changed.push({ path, absolute, text });
  }
  for (const { path, absolute, text } of changed) {
    await writeFileAtomic(absolute, text);
    request.onLine(`recorded change to ${path}`);
  }
}

/** The file with the recorded change; null if it does not fit. A change that is already there is not repeated. */
function withRecorded(file: RecordedFile, before: string | null): string | null {
  if ('content' in file) return before === null || before === file.content ? file.content : null;
  if (before === null) return null;
  const missing = file.edits.filter(({ replace }) => !before.includes(replace));
  const applied = applyEdits(before, missing);
  return applied.ok ? applied.text : null;
}
