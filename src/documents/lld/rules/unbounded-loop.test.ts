import { describe, expect, test } from 'vitest';
import { withSection } from '../../../../test/fixtures/lld/lld-42.ts';
import { checkLld } from '../checks.ts';

function findings(text: string) {
  return checkLld(text, { issueId: '42' }).findings.filter(({ severity }) => severity === 'error');
}

function inLogicFlow(step: string) {
  return findings(withSection('### 2.5 Logic Flow', `1. Read the value.\n2. ${step}\n3. Return the result.`));
}

describe('a loop, retry or wait without a bound is an error', () => {
  test.each([
    'Retry until it succeeds.',
    'Retry the request until the server answers.',
    'Retry forever.',
    'On a 429, wait and retry.',
    'The call is retried on failure.',
    'Retries the upload when the connection drops.',
    'If the request fails, try again until it works.',
    'If the file does not exist, wait and retry until it appears.',
    'If the file does not exist wait and retry until it appears.',
    'Keeps retrying while the service is down.',
    'The worker keeps trying to connect.',
    'Retry with exponential backoff.',
    'Wait for a new credential or back off, then retry.',
    'Loop forever, reading messages.',
    'Loop until the job is done.',
    'Repeat steps 1 and 2 until the result is stable.',
    'Run `while (true)` and read the queue.',
    'while true: read the queue',
    'Enter an infinite loop that reads events.',
    'Poll the endpoint until the job is done.',
    'Poll the endpoint every 5 seconds until the job is done.',
    'Polls for changes every second.',
    'Keep polling the status.',
    'Wait indefinitely for the lock.',
    'Block until the other process answers.',
    'Sleep for 5 seconds and retry until it succeeds.',
    'Retry with no limit.',
    'Retry without a limit until it works.',
    'Fetch the page without a timeout.',
    'The client never gives up.',
    'Attempt to connect until it succeeds.',
    'No state is kept; retry until it succeeds.',
    'The rate limit is met by retrying until it succeeds.',
    'Go back to step 1 when the check fails.',
    'Use unlimited retries.',
    'Retries with exponential backoff.',
    'Loops until convergence.',
    'The loop continues until the queue answers.',
    'Spin until the flag is set.',
    'Busy-wait for the flag.',
    'Retry indefinitely.',
    'Re-run the step until the tests pass.',
    'Repeat until success.',
    'Continues to poll the API.',
    'Waits until the file appears.',
    'Retries on timeout.',
    'Retry on any network error.',
    'On error: sleep and try again.',
    'If it fails, retry.',
    'Retry failed requests.',
    'Failed requests are automatically retried.',
    'Loop: read, process, repeat forever.',
    'Retry, retry, and retry again until done.',
    'The process polls `status` until it is `ready`.',
    'Call the API again until it returns 200.',
    'Calls `fetch` repeatedly until it succeeds.',
    'Ask the model again until the answer parses.',
    'Try to acquire the lock until successful.',
    'Reconnect until the connection is up.',
    'Reconnects on disconnect, forever.',
    'Run forever.',
    'The daemon runs forever and polls the queue.',
    'Wait for a reply without a timeout.',
    'Keep calling the API until it answers.',
    'Retry as many times as needed.',
    'Regenerate the answer until the checks pass.',
    'The request is re-sent whenever it fails.',
  ])('%s', (step) => {
    expect(inLogicFlow(step).map(({ rule }) => rule)).toEqual(['unbounded-loop']);
  });
});

describe('a mere wait without a bound is for the reviewer to judge', () => {
  test.each([
    'Wait for the lock to be released.',
    'The worker waits for the parent.',
    'On SIGTERM the server waits for open requests to finish, then exits.',
  ])('%s', (step) => {
    const text = withSection('### 2.5 Logic Flow', `1. Read the value.\n2. ${step}\n3. Return the result.`);
    expect(checkLld(text, { issueId: '42' }).findings.map(({ rule, severity }) => `${severity} ${rule}`)).toEqual([
      'warning unbounded-loop',
    ]);
  });
});

describe('a bound near by, or a denial, is enough', () => {
  test.each([
    'Retry up to 3 times, then fail.',
    'Retry at most three times until it succeeds.',
    'Retry until it succeeds or 5 attempts have failed.',
    'Retry until it succeeds, max 5 attempts.',
    'Retry once.',
    'Requests are retried by the browser.',
    'Idempotent, so a retry is safe.',
    'Retry with backoff, limited to 30 seconds.',
    'Retry (`maxRetries` = 3) with exponential backoff.',
    'Poll every 5 seconds until the job is done, with a deadline of 2 minutes.',
    'Poll until done, at most 30 times.',
    'Poll the status for up to 60 s.',
    'Wait for the lock with a timeout of 5 seconds.',
    'Wait for the response (timeout 30 s).',
    'Wait until the child exits, for at most 10 seconds, then kill it.',
    'Loop until the list is empty.',
    'Loop over the rows until the end of the file.',
    'Iterate over each row.',
    'For each file, read its lines until EOF.',
    'Repeat until no pages are left.',
    'A `while (true)` loop reads lines and breaks at the end of the input.',
    'No retries.',
    'Does not retry.',
    'The function never loops.',
    'It does not retry until success; it fails at once.',
    'There are no loops, retries or waits.',
    'No loops, no retries, no polling.',
    'No network calls, retries or polling.',
    'Works without polling for changes.',
    'Errors are returned without waiting for the network.',
    'Never retry forever.',
    'Must not loop forever.',
    'Cannot wait indefinitely, because nothing is awaited.',
    'A guard prevents infinite loops on circular references.',
    'Retries are not needed.',
    'Retrying forever is rejected.',
    'Retries: none.',
    'The caller can retry.',
    'The user may retry until it works.',
    'The request is safe to retry.',
    'Failed items can be retried with `--ids`.',
    'Show a retry button.',
    'The retry policy is unchanged.',
    'Honour the Retry-After header.',
    'The event loop is not blocked.',
    'Runs on the main loop.',
    'The main loop runs until SIGTERM is received.',
    'The value is cached until it expires.',
    'Nothing is sent until the form is complete.',
    'The poll is open until Friday.',
    'Each poll has options.',
    'The run waits for a person when the verdict is DISCUSS.',
    'The dialog waits for user input.',
    'Currently the client retries forever; the new code fails at once.',
    'Await the promise and return its value.',
    'Use a push message instead of polling until the job is done.',
    'Listen for events until the socket is closed.',
    'Recurse into folders.',
    'No retries are performed.',
    'It does not loop.',
    'There is no polling and no waiting.',
    'Retries are disabled.',
    'Runs without retries.',
    'Never waits for the network.',
    'There are no timeouts.',
    'It does not wait for the reply.',
    'Neither loops nor retries.',
    'Retry three times.',
    'Retries 3 times with backoff.',
    'Poll 10 times at 1 s intervals.',
    'Waits 5 s.',
    'Loop runs at most n times.',
    'The loop ends after 100 iterations.',
    'Retries (max. 3).',
    'Retry limit: 3.',
    'A bounded retry.',
    'Uses a bounded loop.',
    'Iterates over the array once.',
    'Loops through all rows.',
    'Retry budget of 5.',
    'Exponential backoff, 5 tries.',
    'A worker that loops forever can be killed.',
    'A loop over the finite list of items.',
    'Loop over the entries of the map.',
    'Wait 100 ms before the next step.',
    'Repeat for each of the 5 files.',
    'Repeat the measurement 3 times.',
    'The client tries again once, then fails.',
    'On failure it gives up at once; nothing is retried.',
    'Failed calls are not retried.',
    'The call is never retried.',
    'The upload is retried by the user.',
    'The queue keeps items until they are read.',
    'Keep the lock until the file is written.',
    'Hold the value until the next call.',
    'The loop variable is local.',
    'Uses a for loop over the rows.',
    'Nothing waits for anything.',
    'No step blocks or waits for I/O.',
    'The promise resolves when the timer fires.',
    'Backoff doubles from 1 s up to 30 s, 5 attempts in total.',
    'Infinite values are refused.',
    'The recursion ends at depth 10.',
    'The retries of the HTTP client stay switched off (`retry: false`).',
    'Set `retries: 0`.',
    'The scheduler waits for no one.',
    'Items wait for a free slot for at most 30 s.',
    'The function does not block until completion.',
    'It is safe: no infinite loop is possible.',
    'An infinite loop is impossible.',
    'Guards against infinite loops.',
    'Loop detection: a visited set.',
    'The watcher runs until the process is stopped.',
    'The server listens until it is closed.',
    'Read from the stream until it ends.',
    'Read chunks until the stream is exhausted.',
    'Parse tokens until the closing bracket.',
    'Retry is out of scope.',
    'Retrying is left to the caller.',
    'The user waits for the page.',
  ])('%s', (step) => {
    expect(inLogicFlow(step)).toEqual([]);
  });

  test('a bound in the next step of the list counts', () => {
    expect(inLogicFlow('Poll the job until it is done.\n3. Stop after 30 attempts.')).toEqual([]);
  });

  test('a bound in section 8 for the same kind of loop counts', () => {
    const retries = withSection('### 2.5 Logic Flow', '1. Retry until it succeeds.');
    const bounded = retries.replace(
      'One addition per call',
      'Retries are limited to 3 attempts. One addition per call',
    );
    expect(bounded).not.toBe(retries);
    expect(findings(bounded)).toEqual([]);
  });

  test('a bound in section 8 for another kind of loop does not count', () => {
    const polls = withSection('### 2.5 Logic Flow', '1. Poll until it is done.');
    const bounded = polls.replace('One addition per call', 'Retries: at most 3. One addition per call');
    expect(findings(bounded).map(({ rule }) => rule)).toEqual(['unbounded-loop']);
  });

  test('a mere mention is bounded by a constant in the data structures', () => {
    const text = withSection('### 2.5 Logic Flow', '1. Retry the request on a 503.');
    expect(findings(text)).toHaveLength(1);
    expect(findings(text.replace('// { value: number }', 'const MAX_RETRIES = 3; // attempts'))).toEqual([]);
  });

  test('the code may bound a decorator', () => {
    const text = withSection(
      '### 2.4 Function Signatures',
      '```python\n@retry(stop=stop_after_attempt(3))\ndef get(): ...\n```',
    );
    expect(findings(text.replace('2. Return value plus 42.', '2. Call the service; a failure is retried.'))).toEqual(
      [],
    );
  });
});

describe('only what the design introduces', () => {
  test.each([
    [
      '## 4. Alternatives Considered',
      '| Option | Pros | Cons | Decision |\n|---|---|---|---|\n| Poll until done | Simple | Never ends | **Rejected** |',
    ],
    [
      '## 11. Risks & Mitigations',
      '| Risk | Impact | Likelihood | Mitigation |\n|---|---|---|---|\n| Retries until it succeeds | High | Low | At most 3 attempts |',
    ],
    [
      '## 7. Security & Safety Considerations',
      '| Concern | Mitigation |\n|---|---|\n| Infinite loop on a cycle | Visited nodes are kept |\n\nFail mode: fail closed.',
    ],
    [
      '### 2.7 Architecture Decisions',
      '| Decision | Options Considered | Choice | Rationale |\n|---|---|---|---|\n| Updates | Poll until done, push | Push | One message |',
    ],
    ['### Open Questions', '- [x] ~~Should it retry until it succeeds?~~ **RESOLVED: no.**'],
    ['## 8. Performance & Cost Considerations', 'No loops, no retries and no waiting: constant time.'],
    ['## 8. Performance & Cost Considerations', 'There are no unbounded loops.'],
  ])('%s', (heading, body) => {
    expect(findings(withSection(heading, body))).toEqual([]);
  });

  test.each([
    ['### 2.6 Technical Approach', 'The client retries until the server answers.'],
    ['## 3. Requirements', '1. `item42(1)` returns 43.\n2. A failed call is retried until it succeeds.'],
    ['## 8. Performance & Cost Considerations', '* **Retries:** unlimited retries on failure.'],
    ['## 7. Security & Safety Considerations', 'Fail mode: fail open, the worker keeps retrying.'],
  ])('%s: %s', (heading, body) => {
    expect(findings(withSection(heading, body)).map(({ rule }) => rule)).toEqual(['unbounded-loop']);
  });
});

describe('code', () => {
  const inCode = (code: string, lang = 'js') =>
    findings(withSection('### 2.5 Logic Flow', `\`\`\`${lang}\n${code}\n\`\`\``));

  test.each([
    ['js', 'while (true) {\n  poll();\n}'],
    ['js', 'for (;;) {\n  await step();\n}'],
    ['js', 'while (true) {\n  step();\n}\nreturn done;'],
    ['python', 'while True:\n    step()\nreturn done'],
    ['c', 'while (1) { step(); }'],
    ['go', 'for {\n  step()\n}'],
    ['rust', 'loop {\n  step();\n}'],
    ['', 'WHILE TRUE\n  read the queue'],
    ['text', '1. Read\n2. Retry until success'],
    ['js', '// retries until it succeeds\nsend();'],
  ])('%s %s', (lang, code) => {
    expect(inCode(code, lang).map(({ rule }) => rule)).toEqual(['unbounded-loop']);
  });

  test.each([
    ['js', 'while (true) {\n  const line = read();\n  if (!line) break;\n}'],
    ['js', 'for (;;) {\n  if (done()) return result;\n}'],
    ['python', 'while True:\n    if done():\n        break\n'],
    ['python', 'for attempt in range(3):\n    try_again()'],
    ['js', 'for (let i = 0; i < 3; i++) { await retry(); }'],
    ['js', '// never use while (true) here\nfor (const row of rows) use(row);'],
    ['go', 'for {\n  if ok { return nil }\n}'],
    ['js', "log('while (true) {}');"],
    ['', '1. FOR each job:\n   a. download it\n2. Return'],
  ])('%s %s', (lang, code) => {
    expect(inCode(code, lang)).toEqual([]);
  });
});
