// What a program in a sandbox can see, change and reach. `node sandbox-probe.mjs <targets> <file>`: the targets are a JSON file
// beside it; what came of each attempt goes to the file as JSON, or to stderr as one line after PROBE. The outcome is `yes`, or
// the error.
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const [targetsFile, resultFile] = process.argv.slice(2);
const targets = JSON.parse(fs.readFileSync(targetsFile, 'utf8'));

function outcome(attempt) {
  try {
    attempt();
    return 'yes';
  } catch (error) {
    return error.code ?? String(error);
  }
}

function reached(where) {
  return new Promise((resolve) => {
    const socket = connect(where);
    const end = (text) => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(2_000, () => end('silence'));
    socket.on('connect', () => end('yes'));
    socket.on('error', (error) => end(error.code ?? String(error)));
  });
}

/** A server of its own, as suites have them. */
function ownLoopback() {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end('hello')).listen(
      0,
      '127.0.0.1',
      async () => {
        const found = await reached({ port: server.address().port, host: '127.0.0.1' });
        server.close();
        resolve(found);
      },
    );
  });
}

/** Through the proxy that the environment names. */
function fetched(url) {
  const proxy = process.env.http_proxy && new URL(process.env.http_proxy);
  if (!proxy) return Promise.resolve('no proxy');
  return new Promise((resolve) => {
    const asked = request({ host: proxy.hostname, port: proxy.port, path: url }, (response) => {
      response.resume();
      resolve(String(response.statusCode));
    });
    asked.on('error', (error) => resolve(error.code ?? String(error)));
    asked.end();
  });
}

const link = `link-${Date.now()}`;
const all = {};
const note = (name, found) => {
  all[name] = found;
};
for (const [name, path] of Object.entries(targets.read ?? {}))
  note(
    `read ${name}`,
    outcome(() => (fs.statSync(path).isDirectory() ? fs.readdirSync(path) : fs.readFileSync(path))),
  );
for (const [name, path] of Object.entries(targets.write ?? {}))
  note(
    `write ${name}`,
    outcome(() => fs.writeFileSync(path, 'x')),
  );
for (const [name, path] of Object.entries(targets.list ?? {}))
  note(`list ${name}`, fs.existsSync(path) ? fs.readdirSync(path).sort().join() : 'nothing');
for (const [name, where] of Object.entries(targets.reach ?? {})) note(`reach ${name}`, await reached(where));
for (const [name, url] of Object.entries(targets.fetch ?? {})) note(`fetch ${name}`, await fetched(url));
note('reach own loopback', await ownLoopback());
note(
  'write the worktree',
  outcome(() => fs.writeFileSync('made-by-probe', 'x')),
);
note(
  'write the home',
  outcome(() => fs.writeFileSync(join(process.env.HOME, 'made-by-probe'), 'x')),
);
note(
  'write the temporary folder',
  outcome(() => fs.writeFileSync('/tmp/made-by-probe', 'x')),
);
note(
  'write through a link',
  outcome(() => {
    fs.symlinkSync(targets.link, link);
    fs.writeFileSync(link, 'x');
  }),
);
note(
  'read through a link',
  outcome(() => fs.readFileSync(link)),
);

const processes = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
const commands = processes.map((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
note('other processes', commands.some((command) => /dist\/(worker|cli)\.js/.test(command)) ? 'yes' : 'none');
note(
  'environments',
  processes.some((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, 'utf8').includes(targets.secret);
    } catch {
      return false;
    }
  })
    ? 'yes'
    : 'none',
);

const status = Object.fromEntries(
  fs
    .readFileSync('/proc/self/status', 'utf8')
    .split('\n')
    .map((line) => line.split(/:\s*/)),
);
note('rights', [status.CapEff, status.CapBnd, status.NoNewPrivs].join(' '));
note('devices', ['sda', 'vda', 'kmsg', 'mem', 'kvm'].filter((name) => fs.existsSync(`/dev/${name}`)).join());
// Opened only: a machine that lets it would be changed by more.
note(
  'change the kernel',
  outcome(() => fs.closeSync(fs.openSync('/proc/sys/kernel/core_pattern', 'r+'))),
);
note('mount', spawnSync('mount', ['-t', 'tmpfs', 'none', '/mnt']).status === 0 ? 'yes' : 'refused');
note('unmount', spawnSync('umount', [targets.hidden]).status === 0 ? 'yes' : 'refused');
// By number, because Node has no call for them: where there is no Perl, they can't be tried.
const calls = { x64: { keyctl: 250, socket: 41 }, arm64: { keyctl: 219, socket: 198 } }[process.arch];
const called = (...words) => {
  const { error, stdout } = spawnSync('perl', ['-e', `print syscall(${words.join(',')}) >= 0 ? "yes" : $!+0`], {
    encoding: 'utf8',
  });
  return error !== undefined || calls === undefined ? 'untried' : stdout;
};
note('keyrings', called(calls?.keyctl, 0, -3, 0));
note('sockets out of a virtual machine', called(calls?.socket, 40, 1, 0));
const git = spawnSync('git', ['log', '--format=%s', '-1'], { encoding: 'utf8' });
note('git log', git.status === 0 ? git.stdout.trim() : git.stderr.trim());
note(
  'git config',
  spawnSync('git', ['config', '--list'], { encoding: 'utf8' }).stdout.includes(targets.secret) ? 'secret' : 'clean',
);
note('git commit', spawnSync('git', ['update-ref', 'refs/heads/by-probe', 'HEAD']).status === 0 ? 'yes' : 'refused');

// Neither in its process group, nor with a variable of ours, nor in its folder.
const mark = `sleep 600 # ${targets.mark}`;
spawn('setsid', ['sh', '-c', `cd /; (${mark}) & ${mark}`], { detached: true, stdio: 'ignore', env: {} }).unref();

if (resultFile === undefined) process.stderr.write(`PROBE ${JSON.stringify(all)}\n`);
else fs.writeFileSync(resultFile, JSON.stringify(all));
