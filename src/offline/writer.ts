import type { WriteRequest, Writer } from '../agent/port.ts';
import { AgentosError } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import { untagged } from '../prompts/tags.ts';
import { playBack } from './play-back.ts';
import { recordedCode } from './recorded-code.ts';

const SPEC = 'offline';

/** Plays back the tests and the code that were recorded for the designs of the tour; any other design is refused. */
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

async function writeRecorded({ step, task, item, worktree, onLine }: WriteRequest): Promise<string> {
  const recording = recordedCode(untagged('lld', task) ?? '');
  if (recording === null)
    throw new AgentosError({ code: 'offline-no-code', id: item, why: 'not-recorded', file: null });
  const [, phase, round] = /^(tests|code)-(\d+)$/.exec(step) ?? [];
  const recorded = phase === 'tests' || phase === 'code' ? recording[phase][Number(round) - 1] : undefined;
  if (recorded === undefined) return 'Nothing more was recorded.';
  await playBack(recorded, { worktree, issue: item, onLine });
  return recorded.words;
}
