import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { NEEDED_NODE, oldNodeMessage } from './version.ts';

test.each(['v24.16.0', 'v24.21.3', 'v25.0.0', 'v30.1.0-nightly'])('%s is new enough', (version) => {
  expect(oldNodeMessage(version)).toBeNull();
});

test.each(['v18.20.4', 'v20.20.2', 'v22.22.0', 'v23.11.1', 'v24.0.0', 'v24.15.9'])('%s is refused', (version) => {
  const message = oldNodeMessage(version) ?? '';
  expect(message).toContain(`agentos needs Node 24.16 or newer, this is ${version}. `);
  expect(message).not.toContain('\n');
});

test('the package asks for the same version', () => {
  expect(packageJson.engines.node).toBe(`>=${NEEDED_NODE}`);
});
