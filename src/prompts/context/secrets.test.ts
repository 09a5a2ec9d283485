import { expect, test } from 'vitest';
import { holdsKey, isSecret } from './secrets.ts';

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

test('a file that holds a key is a secret whatever its name; what stands in the place of one in examples is not', () => {
  const letters = 'Zq7Rw2Tk9Lm4Vb8Nc3Xs6Hd1Jf5Gp7Yt2Qe9';
  const keys = [
    `-----BEGIN OPENSSH PRIVATE KEY-----`,
    `token = "ghp_${letters.slice(0, 36)}"`,
    `AWS_ACCESS_KEY_ID=AKIA${'Q3EGRSTUVWZY7XP2'}`,
    `//registry/:_authToken=npm_${letters.slice(0, 36)}`,
    `sk-ant-api03-${letters.repeat(3)}`,
  ];
  for (const key of keys) {
    expect(holdsKey(`const a = 1;\n${key}\n`), key).toBe(true);
    expect(holdsKey(Buffer.from(`const a = 1;\n${key}\n`)), key).toBe(true);
  }
  for (const harmless of [
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    'sk-ant-api03-0123456789',
    'the rules begin with -----BEGIN ',
    'npm_config_registry',
  ])
    expect(holdsKey(harmless), harmless).toBe(false);
});
