import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { startTestHub, type TestHub, type TestMachine } from './hub.ts';
import { ISSUE, issueOf, script, taskOf, vendorEnv } from './models.ts';
import { freshDatabase, hasPostgres, type TestPostgres, testPostgres } from './postgres.ts';
import { eventually } from './processes.ts';
import { type Started, startAgentos } from './program.ts';
import { type TestRepository, testRepository } from './repository.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
import { startVendor, type Vendor } from './vendor/index.ts';

export const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];

interface Busy {
  repository: TestRepository;
  program: Started;
  pair: [TestMachine, TestMachine];
  release: () => void;
}

/** A hub, machines and a network between them that can be broken. */
export class FaultyHub {
  postgres!: TestPostgres;
  folder!: string;
  hub!: TestHub;
  vendor!: Vendor;
  databaseProxy!: TcpProxy;
  hubProxy!: TcpProxy;
  readonly machines: TestMachine[] = [];
  readonly #held = new Map<string, Promise<void>>();
  #pairs = 0;

  async open(lease: string): Promise<void> {
    this.postgres = await testPostgres();
    this.folder = await mkdtemp(join(tmpdir(), 'agentos-hub-'));
    const answer = script();
    this.vendor = await startVendor({
      script: async (call) => {
        if (taskOf(call) === 'draft') await this.#held.get(issueOf(call));
        return answer(call);
      },
    });
    this.databaseProxy = await startTcpProxy(this.postgres.port);
    this.hubProxy = await startTcpProxy(0);
    const url = await freshDatabase(this.postgres);
    const flags = ['--address', `https://127.0.0.1:${this.hubProxy.port}`];
    this.hub = await startTestHub({ url, folder: this.folder, env: vendorEnv(this.vendor.url), lease, flags });
    this.hubProxy.target = this.hub.port();
  }

  async tidy(): Promise<void> {
    this.databaseProxy.heal();
    this.hubProxy.heal();
    for (const { program } of this.machines.splice(0)) {
      program.child.kill('SIGCONT');
      program.child.kill('SIGKILL');
      await program.ended;
    }
  }

  async close(): Promise<void> {
    await this.hub?.close();
    await this.databaseProxy?.close();
    await this.hubProxy?.close();
    await this.vendor?.close();
    await this.postgres?.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The first goes through the proxies. */
  async twoMachines(): Promise<[TestMachine, TestMachine]> {
    this.#pairs += 1;
    const far = new URL(this.hub.url);
    far.port = String(this.databaseProxy.port);
    const first = await this.hub.machine(`far-${this.#pairs}`, { parallel: 1, url: far.href });
    this.machines.push(first);
    const second = await this.hub.machine(`near-${this.#pairs}`, { parallel: 1 });
    this.machines.push(second);
    return [first, second];
  }

  start(repository: TestRepository, ...args: string[]): Started {
    const env = { HOME: repository.home, AGENTOS_DATABASE_URL: this.hub.url };
    return startAgentos(args, { cwd: repository.root, env });
  }

  callsFor(id: string): string[] {
    return this.vendor.calls.filter((call) => issueOf(call) === id).map(taskOf);
  }

  /** The drafts of an issue wait until the returned function is called. */
  hold(id: string): () => void {
    const gate = Promise.withResolvers<void>();
    this.#held.set(id, gate.promise);
    return () => {
      this.#held.delete(id);
      gate.resolve();
    };
  }

  /** Two items whose drafts wait, one on each machine. */
  async bothBusy(one: string, other: string): Promise<Busy> {
    const repository = await testRepository({ [one]: ISSUE, [other]: ISSUE });
    const releases = [this.hold(one), this.hold(other)];
    const pair = await this.twoMachines();
    const program = this.start(repository, 'lld', '--all', ...MODELS);
    await Promise.all([program.printed(`[LLD-${one}] draft …`), program.printed(`[LLD-${other}] draft …`)]);
    await eventually('the vendor has both calls', () => this.callsFor(one).length + this.callsFor(other).length === 2);
    return { repository, program, pair, release: () => releases.forEach((go) => go()) };
  }

  async endsWell(program: Started, repository: TestRepository, ids: string[]): Promise<string> {
    const { code, stdout, stderr } = await program.ended;
    if (code !== 0) throw new Error(`it ended with ${code}:\n${stdout}${stderr}`);
    for (const id of ids) {
      const files = await repository.list(`docs/lineage/${id}`);
      const ends = stdout.split(`[LLD-${id}] succeeded`).length - 1;
      if (files.length !== 4 || ends !== 1)
        throw new Error(`${id}: ${files.join(', ')}, ended ${ends} times\n${stdout}`);
    }
    return stdout;
  }
}

/** One for the tests of the file or group that it is called in. */
export function useFaultyHub(lease: string): FaultyHub {
  const hub = new FaultyHub();
  if (!hasPostgres()) return hub;
  beforeAll(() => hub.open(lease));
  afterEach(() => hub.tidy());
  afterAll(() => hub.close());
  return hub;
}
