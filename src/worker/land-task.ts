import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import { runLand } from '../workflow/land.ts';
import { itemTask } from './adapters.ts';
import { openWorktreeTask } from './worktree-task.ts';

export const landTask = itemTask('land', async (adapters, context) => {
  const { id, landing } = adapters.input;
  if (landing === undefined) throw new TypeError('a landing without branches');
  const ids = landing.branches.map((branch) => branch.id);
  const hash = sha256(JSON.stringify(landing));
  const item = await adapters.start({ id: parseItemId(id), title: `${ids.join(', ')} onto ${landing.onto}`, hash });
  const task = await openWorktreeTask('land', adapters, context);
  try {
    const result = await runLand(item, { ...task, landing });
    // What was paid for is of use to a landing on another base.
    const isPaid = item.journal.steps().some(({ name }) => name.startsWith('settled-'));
    return { ...result, keepsCheckpoint: isPaid };
  } finally {
    await task.removeHome();
  }
});
