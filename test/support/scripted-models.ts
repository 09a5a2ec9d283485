import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lldFor, review } from './models.ts';
import { PROJECT, WITHOUT_SANDBOX } from './program.ts';
import type { TestRepository } from './repository.ts';
import { SAMPLE_ISSUE } from './sample-issue.ts';

type ScriptedTask = 'issue' | 'lld' | 'review-issue' | 'review-lld' | 'review-tests' | 'review-code';

/** Drafter and reviewer as commands that answer what they are told to; what nobody told them is well. */
export interface ScriptedModels {
  flags: string[];
  /** `fails`: the command does. */
  answer(task: ScriptedTask, id: string, reply: string): Promise<void>;
  /** Calls for it wait until it is released. */
  hold(task: ScriptedTask, id: string): Promise<void>;
  release(task: ScriptedTask, id: string): Promise<void>;
  /** What was asked, in the order of asking: `review-lld 42`. */
  calls(): Promise<string[]>;
}

export async function scriptedModels(repository: TestRepository): Promise<ScriptedModels> {
  const folder = join(repository.home, '..', 'models');
  const held = (task: ScriptedTask, id: string): string => join(folder, `hold-${task}-${id}`);
  await mkdir(folder);
  const approval = review({ verdict: 'APPROVED' });
  await writeFile(join(folder, 'issue.md'), SAMPLE_ISSUE);
  await writeFile(join(folder, 'lld.md'), lldFor('{id}'));
  for (const task of ['review-issue', 'review-lld', 'review-tests', 'review-code'])
    await writeFile(join(folder, `${task}.md`), approval);
  const model = `command:sh '${join(PROJECT, 'test', 'support', 'scripted-model.sh')}' '${folder}'`;
  return {
    flags: ['--drafter', model, '--reviewer', model, ...WITHOUT_SANDBOX],
    answer: (task, id, reply) => writeFile(join(folder, `${task}-${id}.md`), reply),
    hold: (task, id) => writeFile(held(task, id), ''),
    release: (task, id) => rm(held(task, id)),
    calls: async () => {
      const text = await readFile(join(folder, 'calls'), 'utf8').catch(() => '');
      return text.split('\n').filter((line) => line !== '');
    },
  };
}
