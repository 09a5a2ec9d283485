import { AgentosError } from '../../core/errors.ts';
import { NO_USAGE } from '../../core/money.ts';
import { type RecordedCode, recordedCode } from '../../provider/offline/recorded-code.ts';
import type { WriteRequest, Writer } from '../port.ts';
import { playBack } from './play-back.ts';
import { scaffoldTests } from './test-scaffold.ts';
import { writeWorktreeFile } from './worktree-file.ts';

const SPEC = 'offline';

/**
 * The embedded model as a writer. The designs of the tour get the tests and the code that were recorded for them. For
 * any other design it can make a scaffold of the tests, which fail until somebody writes them; code it can't write, and
 * it says so.
 */
export function createOfflineWriter(): Writer {
  return {
    spec: SPEC,
    isModel: false,
    writesByItself: false,
    async write(request) {
      request.signal.throwIfAborted();
      const recording = recordedCode(request.material.lld);
      const text = recording ? await writeRecorded(recording, request) : await writeByRules(request);
      request.onProgress();
      return { text, answered: SPEC, usage: NO_USAGE, metered: true, costUsd: 0 };
    },
  };
}

async function writeRecorded(recording: RecordedCode, { worktree, material, onLine }: WriteRequest): Promise<string> {
  const step = recording[material.phase][material.round - 1];
  if (!step) return 'Nothing more was recorded.';
  await playBack(step, { worktree, issue: material.issue, onLine });
  return step.words;
}

async function writeByRules({ worktree, material, onLine }: WriteRequest): Promise<string> {
  const refused = (why: 'not-recorded' | 'language'): AgentosError =>
    new AgentosError({ code: 'offline-no-code', id: material.issue, why, file: null });
  if (material.phase === 'code') throw refused('not-recorded');
  if (material.round > 1) return 'The scaffold of the tests is there; rules can do no more.';
  const scaffold = await scaffoldTests(worktree, material);
  if (!scaffold) throw refused('language');
  await writeWorktreeFile(worktree, scaffold.path, scaffold.text);
  onLine(`scaffold of tests in ${scaffold.path}`);
  return `A scaffold, made by rules: ${scaffold.path} has a test for each scenario, and each of them fails until somebody writes it.`;
}
