import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join, posix } from 'node:path';
import type { LoadFailure } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { loadMessage } from '../reports/report.ts';
import type { Changes, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { plainArguments, programNamed, shellQuoted } from '../script.ts';
import { isTestOf } from '../test-files.ts';

const isIn = (project: Project, words: RegExp): boolean =>
  words.test(`${project.texts.Gemfile}\n${project.texts.Rakefile}\n${project.samples}`);
const withBundler = (directory: string, command: string): string =>
  existsSync(join(directory, 'Gemfile')) ? `bundle exec ${command}` : command;

export const rspec: Runner = {
  name: 'rspec',
  worksHidden: true,
  isMissingCode: isRubyMissing,
  sign: (project) => (hasFile(project, /^\.rspec$/) || isIn(project, /\brspec\b|RSpec\./) ? 'named' : null),
  usualCommand: async (directory) => withBundler(directory, 'rspec'),
  headAt: programNamed('rspec'),

  select(call, files) {
    if (files.length === 0 || !files.every((file) => isTestOf('ruby', file))) return null;
    return { remove: plainArguments(call, /^(-[cbw]|--(color|no-color|backtrace|profile|fail-fast))$/), last: files };
  },

  async instrument(_, { folder, env }) {
    const formatter = join(folder, 'agentos_formatter.rb');
    await writeFile(formatter, RSPEC_FORMATTER);
    const out = ['--format', 'AgentosFormatter', '--out', join(folder, 'report.lines')];
    const options = ['--require', formatter, '--format', 'progress', ...out].map(shellQuoted).join(' ');
    return { env: { SPEC_OPTS: `${env.SPEC_OPTS ?? ''} ${options}`.trim() } };
  },

  read: readRuby,
};

/** `task default: :test`, `task :default => [:spec]` */
const DEFAULT_TASK = /^task\s+(?:default:|:default\s*=>)\s*\[?\s*:(test|spec)\b/m;

export const minitest: Runner = {
  name: 'minitest',
  worksHidden: true,
  isMissingCode: isRubyMissing,
  sign: (project) => (isIn(project, /\bminitest\b|Minitest::/) ? 'named' : null),

  async usualCommand(directory, { texts }) {
    const [, task] = DEFAULT_TASK.exec(texts.Rakefile) ?? [];
    if (task !== undefined) return withBundler(directory, `rake ${task}`);
    if (/TestTask|Minitest::/.test(texts.Rakefile)) return withBundler(directory, 'rake test');
    return withBundler(directory, `ruby -Ilib -Itest -e 'Dir["./test/**/{*_test,test_*}.rb"].each { |f| require f }'`);
  },

  headAt: (names, at) => (/^(rake|rails)$/.test(names[at] ?? '') && names[at + 1] === 'test' ? at + 1 : null),

  select({ words, head }, files) {
    if (files.length === 0 || !files.every((file) => isTestOf('ruby', file))) return null;
    if (words[head - 1]?.text === 'rails') return { last: files };
    return { last: [`TEST=${files.length === 1 ? files[0] : `{${files.join(',')}}`}`] };
  },

  /** Not as a plugin that is found: version 6 looks for none, and many projects turn that off. */
  async instrument(_, { folder, env }) {
    await writeFile(join(folder, 'agentos_minitest.rb'), MINITEST_HOOK);
    const RUBYLIB = [folder, env.RUBYLIB ?? ''].filter((part) => part !== '').join(delimiter);
    return { env: { RUBYLIB, RUBYOPT: `${env.RUBYOPT ?? ''} -ragentos_minitest`.trim() } };
  },

  read: readRuby,
};

const ERROR = /^.*(?:cannot load such file -- |uninitialized constant |\((?:LoadError|NameError|SyntaxError)\)).*$/m;

async function readRuby({ folder, pathInWorktree }: RunPlace, output: RunOutput): Promise<Report | null> {
  const reading = await linesIn(folder, pathInWorktree);
  if (reading !== null) return reading;
  const text = `${output.stderr}\n${output.stdout}`;
  const found = ERROR.exec(text);
  if (found === null || output.exitCode === 0) return null;
  const file = /(?:^|[\s'"])(\S+?(?:_test|_spec|\/test_\w+)\.rb)\b/.exec(text.slice(found.index))?.[1] ?? '';
  const failure = { file: pathInWorktree(file), message: loadMessage(text.slice(found.index)) };
  return { cases: [], loadFailures: [failure] };
}

function isRubyMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
  if (!file?.endsWith('.rb') && !ERROR.test(message)) return null;
  const required = [...message.matchAll(/cannot load such file -- ([^\s()]+)/g)].map(([, path = '']) => path);
  const constants = [...message.matchAll(/uninitialized constant ([\w:]+)/g)].map(([, name = '']) => name);
  const isAdded = (path: string): boolean => {
    const end = `${path.replace(/\.rb$/, '')}.rb`;
    return changes.added.some((added) => end === added || end.endsWith(`/${added}`) || added.endsWith(`/${end}`));
  };
  const changed = [...changes.added, ...changes.modified].map((path) =>
    posix.basename(path, '.rb').replaceAll('_', ''),
  );
  // A file that defines a constant is mostly called like it.
  const isOurs = (name: string): boolean => name.split('::').some((part) => changed.includes(part.toLowerCase()));
  return required.length + constants.length > 0 && required.every(isAdded) && constants.every(isOurs);
}

const RSPEC_FORMATTER = `require 'json'

class AgentosFormatter
  RSpec::Core::Formatters.register self, :example_passed, :example_failed, :example_pending, :message, :close

  def initialize(output)
    @output = output
  end

  def example_passed(notification)
    tell(notification.example, 'passed')
  end

  def example_pending(notification)
    tell(notification.example, 'skipped')
  end

  def example_failed(notification)
    error = notification.example.execution_result.exception
    tell(notification.example, 'failed', "#{error.class}: #{error.message}\\n#{(error.backtrace || []).first(10).join("\\n")}")
  end

  def message(notification)
    text = notification.message.to_s.gsub(/^(\\w*(?:Error|Exception)):\\n\\s+/, '\\1: ')
    file = text[/An error occurred while loading (\\S+?\\.rb)/, 1]
    write(file: file, broken: text) if text.include?('An error occurred')
  end

  def close(_notification)
    write(end: true)
    @output.flush
  end

  private

  def tell(example, outcome, message = nil)
    groups = example.example_group.parent_groups.reverse.map(&:description)
    write(file: example.metadata[:rerun_file_path] || example.file_path, names: groups + [example.description], outcome: outcome, message: message)
  end

  def write(line)
    @output.puts JSON.generate(line)
  end
end
`;

/** Adds a reporter as soon as Minitest is there; a Ruby that runs no tests only loads this file. */
const MINITEST_HOOK = `require 'json'

TracePoint.new(:end) do |point|
  minitest = point.self
  next unless minitest.is_a?(Module) && minitest.name == 'Minitest' && minitest.respond_to?(:extensions) && minitest.extensions

  point.disable
  minitest.extensions << 'agentos'
  minitest.define_singleton_method(:plugin_agentos_init) do |_options|
    reporter << Class.new(minitest::AbstractReporter) do
      def record(result)
        outcome = result.skipped? ? 'skipped' : result.passed? ? 'passed' : 'failed'
        name = result.respond_to?(:klass) ? result.klass : result.class.name
        place = result.respond_to?(:source_location) ? result.source_location : result.method(result.name).source_location
        message = outcome == 'failed' ? result.failures.map { |failure| "#{failure.message}\\n#{failure.location}" }.join("\\n") : nil
        # The number of a spec changes with those before it.
        write(file: place && place[0], names: [name, result.name.sub(/\\Atest_\\d{4}_/, '')], outcome: outcome, message: message)
      end

      def report
        write(end: true)
      end

      def write(line)
        File.open(File.join(__dir__, 'report.lines'), 'a') { |file| file.puts JSON.generate(line) }
      end
    end.new
  end
end.enable
`;
