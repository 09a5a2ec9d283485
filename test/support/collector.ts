import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { type CollectedSpan, readJson, readProtobuf } from './otlp.ts';

export type { CollectedSpan } from './otlp.ts';

/** fine: it takes what comes; slow: after a while; broken: status 500; deaf: it never answers. */
export type CollectorMood = 'fine' | 'slow' | 'broken' | 'deaf';

const SLOW_MS = 700;

export interface Collector {
  url: string;
  /** What was taken, in the order in which it came. */
  spans: CollectedSpan[];
  requests: { path: string; headers: IncomingHttpHeaders }[];
  mood: CollectorMood;
  close(): Promise<void>;
}

/** An OTLP collector on this machine: both forms of the protocol, and several ways to misbehave. */
export async function openCollector(mood: CollectorMood = 'fine'): Promise<Collector> {
  const server = createServer((request, response) => {
    void read(request).then((body) => {
      collector.requests.push({ path: request.url ?? '', headers: request.headers });
      if (collector.mood === 'deaf') return;
      if (collector.mood === 'broken') {
        response.writeHead(500).end('no');
        return;
      }
      const isJson = request.headers['content-type'] === 'application/json';
      const answer = (): void => {
        collector.spans.push(...(isJson ? readJson(body) : readProtobuf(body)));
        response.writeHead(200, { 'content-type': request.headers['content-type'] }).end(isJson ? '{}' : '');
      };
      if (collector.mood === 'slow') setTimeout(answer, SLOW_MS);
      else answer();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const collector: Collector = {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    spans: [],
    requests: [],
    mood,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return collector;
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
