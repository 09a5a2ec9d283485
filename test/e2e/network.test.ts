import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, script, vendorEnv } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { startProxy } from '../support/proxy.ts';
import { testRepository } from '../support/repository.ts';
import { startVendor } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];
/** Nobody but a proxy can reach it. */
const FAR_HOST = 'vendor.invalid';

async function place() {
  const vendor = await startVendor({ script: script() });
  onTestFinished(() => vendor.close());
  const repository = await testRepository({ 1: ISSUE });
  const port = Number(new URL(vendor.url).port);
  const options = (env: Record<string, string>) => ({
    cwd: repository.root,
    env: { ...vendorEnv(vendor.url), GEMINI_API_KEY: '', OPENAI_API_KEY: '', HOME: repository.home, ...env },
  });
  return { vendor, repository, port, options };
}

test('vendors are reached through the proxy, and the gateway on this machine never is', async () => {
  const { vendor, repository, port, options } = await place();
  const proxy = await startProxy(port);
  const far = {
    ANTHROPIC_BASE_URL: `http://${FAR_HOST}:${port}`,
    HTTP_PROXY: proxy.url,
    // With this, Node itself sends every request of a worker through the proxy.
    NODE_USE_ENV_PROXY: '1',
    no_proxy: 'elsewhere.example',
  };
  const run = await agentos(['lld', '1', ...MODELS], options(far));
  expect(run.code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
  expect(proxy.seen).toEqual([1, 2].map(() => `POST http://${FAR_HOST}:${port}/v1/messages`));

  const doctor = await agentos(['doctor', '--keys'], options(far));
  expect(doctor.stdout).toMatch(/ok +ANTHROPIC_API_KEY +works/);
  expect(proxy.seen.slice(2)).toEqual([`GET http://${FAR_HOST}:${port}/v1/models`]);

  const near = { ...far, ANTHROPIC_BASE_URL: vendor.url, no_proxy: '127.0.0.1' };
  expect((await agentos(['doctor', '--keys'], options(near))).stdout).toMatch(/ok +ANTHROPIC_API_KEY +works/);
  expect(proxy.seen).toHaveLength(3);

  const [folder = ''] = await repository.list('.agentos/runs');
  const events = await repository.read(`.agentos/runs/${folder}/events.jsonl`);
  for (const said of [run.stdout, run.stderr, doctor.stdout, events]) expect(said).not.toContain(proxy.password);
});

const OPENSSL = 'openssl';
const hasOpenssl = spawnSync(OPENSSL, ['version']).status === 0;

test.skipIf(!hasOpenssl)('certificates of SSL_CERT_FILE are trusted for vendors, also behind a proxy', async () => {
  const { vendor, repository, port, options } = await place();
  const [key, certificate] = [join(repository.home, 'key.pem'), join(repository.home, 'certificate.pem')];
  const subject = `-subj /CN=${FAR_HOST} -addext subjectAltName=DNS:${FAR_HOST}`;
  const request = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ${subject}`;
  execFileSync(OPENSSL, [...request.split(' '), '-keyout', key, '-out', certificate], { stdio: 'ignore' });
  const secure = tls.createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) => {
    const plain = net.connect(port, '127.0.0.1');
    for (const end of [plain, socket]) end.on('error', () => socket.destroy());
    plain.pipe(socket).pipe(plain);
  });
  await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void secure.close());
  const proxy = await startProxy((secure.address() as net.AddressInfo).port);
  const far = { ANTHROPIC_BASE_URL: `https://${FAR_HOST}`, https_proxy: proxy.url };

  const distrusted = await agentos(['doctor', '--keys'], options(far));
  expect(distrusted.stdout).toMatch(/BAD +ANTHROPIC_API_KEY .*self-signed certificate/);
  const { code, stdout } = await agentos(['lld', '1', ...MODELS], options({ ...far, SSL_CERT_FILE: certificate }));
  expect(stdout).not.toContain('SSL_CERT_FILE');
  expect(code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
  expect(new Set(proxy.seen)).toEqual(new Set([`CONNECT ${FAR_HOST}:443`]));
});

test.each([
  ['ANTHROPIC_BASE_URL', 'foo', []],
  ['ANTHROPIC_BASE_URL', 'https://user:hunter2@host.example', ['--dry-run']],
  ['HTTPS_PROXY', 'http://user:hunter2@', []],
  ['http_proxy', 'socks5://127.0.0.1:1080', ['--dry-run']],
])('%s=%s is refused before anything starts, and not repeated', async (variable, value, flags) => {
  const { vendor, repository, options } = await place();
  const { code, stderr, stdout } = await agentos(['lld', '1', ...MODELS, ...flags], options({ [variable]: value }));
  expect(code).toBe(2);
  expect(stderr).toContain(variable);
  expect(stderr + stdout).not.toContain('hunter2');
  expect(vendor.calls).toEqual([]);
  expect(existsSync(join(repository.root, '.agentos'))).toBe(false);
});
