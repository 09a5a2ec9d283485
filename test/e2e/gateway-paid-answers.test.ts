import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { type GatewayUnderTest, openGateway, until } from '../support/gateway.ts';
import type { Answer } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const FORMATS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;
const TEXT = 'Paid once, kept until it is taken. '.repeat(20);

/** A vendor that answers slowly enough to be left alone with its answer. */
const slowly = (): Answer => ({ text: TEXT, chunkDelayMs: 10 });

interface Asking {
  step?: string;
  text?: string;
  stream?: boolean;
  signal?: AbortSignal;
  token?: string;
}

function ask(opened: GatewayUnderTest, format: (typeof FORMATS)[number], asking: Asking = {}): Promise<Response> {
  const { step = 'draft-1', text = 'Draft it.', stream = true, signal, token = opened.token } = asking;
  return post(opened.gateway, format, {
    key: token,
    text,
    stream,
    headers: { 'x-agentos-step': step },
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Reads until the answer has begun, then goes away. */
async function leaveInTheMiddle(opened: GatewayUnderTest, format: (typeof FORMATS)[number]): Promise<void> {
  const leaving = new AbortController();
  const response = await ask(opened, format, { signal: leaving.signal });
  const reading = response.text().catch(() => 'left');
  leaving.abort();
  expect(await reading).toBe('left');
}

describe.each(FORMATS)('as %s', (format) => {
  test('the answer of a step outlives its caller, and the next one gets it without a second call', async () => {
    const opened = await openGateway({ vendor: { script: slowly } });
    await leaveInTheMiddle(opened, format);
    await opened.vendor.waitForFinished(1);
    const [call] = await opened.calls(1);
    expect(call).toMatchObject({ status: 200, usage: { outputTokens: expect.any(Number) } });
    // The successor is another worker with another token.
    const token = opened.gateway.issueToken({ item: '7' });
    const text = await (await ask(opened, format, { token })).text();
    expect(text.length).toBeGreaterThan(TEXT.length);
    expect(opened.vendor.calls).toHaveLength(1);
    expect(opened.events.at(-1)).toMatchObject({ type: 'answer-reused', step: 'draft-1' });
  });

  test('a caller that comes back early joins the answer in flight, from its beginning', async () => {
    const opened = await openGateway({ vendor: { script: slowly } });
    await leaveInTheMiddle(opened, format);
    const [again, both] = await Promise.all([ask(opened, format), ask(opened, format)]);
    const texts = [await again.text(), await both.text()];
    expect(texts[0]).toBe(texts[1]);
    expect(texts[0]?.length).toBeGreaterThan(TEXT.length);
    expect(opened.vendor.calls).toHaveLength(1);
    expect(opened.events.filter((event) => event.type === 'gateway-call')).toHaveLength(1);
  });

  test('a whole answer is kept too, with its status and headers', async () => {
    const opened = await openGateway({ vendor: { script: () => ({ text: 'Whole.' }) } });
    const first = await ask(opened, format, { stream: false });
    const second = await ask(opened, format, { stream: false });
    expect(second.status).toBe(200);
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(await second.text()).toBe(await first.text());
    expect(opened.vendor.calls).toHaveLength(1);
  });

  test('without a step the vendor is not kept at work for a caller that left', async () => {
    const opened = await openGateway({ vendor: { script: slowly } });
    const leaving = new AbortController();
    await post(opened.gateway, format, { key: opened.token, stream: true, signal: leaving.signal });
    leaving.abort();
    await opened.vendor.waitFor((calls) => calls[0]?.aborted === true);
    await opened.calls(1);
    expect(opened.pool.inFlight).toBe(0);
  });
});

test('a worker that is killed with a call in flight loses nothing: its successor gets the answer, paid once', async () => {
  const opened = await openGateway({ vendor: { script: slowly } });
  const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'Draft it.' }] });
  const program = `
    const response = await fetch(${JSON.stringify(`${opened.gateway.url}/anthropic/v1/messages`)}, {
      method: 'POST',
      headers: { 'x-api-key': ${JSON.stringify(opened.token)}, 'x-agentos-step': 'draft-1' },
      body: ${JSON.stringify(body)},
    });
    for await (const piece of response.body) process.stdout.write('.');
  `;
  const worker = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(worker.stdout, 'data');
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  const response = await fetch(`${opened.gateway.url}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': opened.token, 'x-agentos-step': 'draft-1' },
    body,
  });
  expect(await response.text()).toContain('message_stop');
  expect(opened.vendor.counters.total).toMatchObject({ requests: 1, aborted: 0 });
});

test('another body, another step or another item is another question', async () => {
  const opened = await openGateway({ vendor: { script: () => ({ text: 'x' }) } });
  const other = opened.gateway.issueToken({ item: '8' });
  const askings: Asking[] = [{}, { text: 'Draft it again.' }, { step: 'draft-2' }, { token: other }];
  for (const asking of askings) await (await ask(opened, 'anthropic', asking)).text();
  expect(opened.vendor.calls).toHaveLength(4);
});

test('a failure is not kept: the step is asked anew', async () => {
  let served = 0;
  const script = (): Answer => {
    served += 1;
    if (served === 1) return { status: 400, message: 'No.' };
    if (served === 2) return { text: 'x'.repeat(300), cutAfterChars: 100 };
    if (served === 3) return { text: 'x'.repeat(300), errorInStream: { type: 'api_error', message: 'Oh no.' } };
    return { text: 'At last.' };
  };
  const opened = await openGateway({ vendor: { script } });
  expect((await ask(opened, 'anthropic')).status).toBe(400);
  expect(await (await ask(opened, 'anthropic')).text()).toContain('broke off');
  expect(await (await ask(opened, 'anthropic')).text()).toContain('Oh no.');
  expect(await (await ask(opened, 'anthropic')).text()).toContain('At last.');
  expect(await (await ask(opened, 'anthropic')).text()).toContain('At last.');
  expect(opened.vendor.calls).toHaveLength(4);
});

test('an item that ended is forgotten', async () => {
  const opened = await openGateway({ vendor: { script: () => ({ text: 'x' }) } });
  const other = opened.gateway.issueToken({ item: '8' });
  await (await ask(opened, 'anthropic')).text();
  await (await ask(opened, 'anthropic', { token: other })).text();
  opened.gateway.forget('7');
  await (await ask(opened, 'anthropic')).text();
  await (await ask(opened, 'anthropic', { token: other })).text();
  expect(opened.vendor.calls).toHaveLength(3);
});

test('an answer in flight that nobody waits for any more is ended when its item is forgotten', async () => {
  const opened = await openGateway({ vendor: { script: slowly } });
  await leaveInTheMiddle(opened, 'anthropic');
  opened.gateway.forget('7');
  await opened.vendor.waitFor((calls) => calls[0]?.aborted === true);
  await opened.calls(1);
  expect(opened.pool.inFlight).toBe(0);
});

test('a step that is still in the queue leaves it with its last caller: nothing was paid', async () => {
  const opened = await openGateway({ vendor: { script: slowly } });
  opened.pool.hold();
  const leaving = [new AbortController(), new AbortController()];
  const asked = leaving.map(({ signal }) => ask(opened, 'anthropic', { signal }).catch(() => 'left'));
  await until(() => opened.events.some((event) => event.type === 'answer-reused'));
  leaving[0]?.abort();
  expect(await asked[0]).toBe('left');
  expect(opened.pool.queued).toBe(1);
  leaving[1]?.abort();
  await until(() => opened.pool.queued === 0);
  opened.pool.release();
  expect(await (await ask(opened, 'anthropic')).text()).toContain('message_stop');
  expect(opened.vendor.calls).toHaveLength(1);
});

test('an item that asks the next question has stored the answer to the last one, which is forgotten', async () => {
  const opened = await openGateway({ vendor: { script: () => ({ text: 'x' }) } });
  const take = async (step: string): Promise<void> => void (await (await ask(opened, 'anthropic', { step })).text());
  for (const step of ['a', 'a', 'b', 'b']) await take(step);
  expect(opened.vendor.calls).toHaveLength(2);
  await take('a');
  expect(opened.vendor.calls).toHaveLength(3);
});
