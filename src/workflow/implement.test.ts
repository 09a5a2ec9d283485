import { expect, test } from 'vitest';
import { portableSpec } from './implement.ts';

test.each([
  ['command:node agent.mjs', 'command:node agent.mjs'],
  ["command:node '/home/ada/my repo/agent.mjs' 'code=well'", "command:node 'agent.mjs' 'code=well'"],
  ['command:"/home/ada/tools/agent" --fast', 'command:"../tools/agent" --fast'],
  ['command:/usr/bin/python3 write.py --to=/home/ada/x', 'command:python3 write.py --to=../x'],
  ['anthropic:claude-opus-5', 'anthropic:claude-opus-5'],
])('%s is named on a branch without folders of this machine', (spec, expected) => {
  expect(portableSpec('/home/ada/my repo', spec)).toBe(expected);
});
