import { expect, test } from 'vitest';
import { isSecret } from './secrets.ts';

test.each([
  '.env',
  'deploy/.env.production',
  '.npmrc',
  'id_rsa',
  'keys/id_ed25519.pub',
  'config/server.pem',
  'a.key',
  'store.p12',
  'credentials.json',
  'secrets.yaml',
  'my-secrets.yml',
  'service-account.json',
  '.aws/config',
  'home/.ssh/known_hosts',
])('%s may hold secrets', (path) => {
  expect(isSecret(path)).toBe(true);
});

test.each(['.env.example', 'src/keyboard.ts', 'src/secret-santa.ts', 'docs/tokens.md', 'environment.ts'])(
  '%s only looks like it',
  (path) => {
    expect(isSecret(path)).toBe(false);
  },
);
