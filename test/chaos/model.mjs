// A model as a command: `node model.mjs <url>`, the prompt on stdin. It asks the loopback vendor, so that every call is
// counted in one place. An answer that names files is an implementer's: they are written into the folder it runs in.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const prompt = readFileSync(0, 'utf8');
const response = await fetch(`${process.argv[2]}/v1/messages`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  body: JSON.stringify({
    model: 'command',
    max_tokens: 32_000,
    system: prompt,
    messages: [{ role: 'user', content: prompt }],
  }),
});
const body = await response.text();
if (!response.ok) {
  process.stderr.write(`${response.status} ${body.slice(0, 200)}\n`);
  process.exit(1);
}
const text = JSON.parse(body)
  .content.map((part) => part.text ?? '')
  .join('');
// No model, but the vendor, is to blame for an implementer that did nothing.
if (text === '' && process.env.AGENTOS_PHASE) process.exit(1);
const { files } = text.startsWith('{"files":') ? JSON.parse(text) : { files: null };
if (files === null) process.stdout.write(text);
else {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}
