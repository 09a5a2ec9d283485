import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join, posix } from 'node:path';
import { shellWord } from '../../core/lines.ts';
import type { LoadFailure } from '../port.ts';
import { hasFile, type Project } from '../project.ts';
import { linesIn } from '../reports/lines.ts';
import { loadMessage, type Reading, withUnexplained } from '../reports/report.ts';
import type { Changes, Runner, RunOutput, RunPlace } from '../runner.ts';
import { plainArguments, programNamed } from '../script.ts';
import { isTestOf } from '../test-files.ts';

const isIn = (project: Project, words: RegExp): boolean =>
  words.test(`${project.texts.Gemfile}\n${project.texts.Rakefile}\n${project.samples}`);
const withBundler = (directory: string, command: string): string =>
  existsSync(join(directory, 'Gemfile')) ? `bundle exec ${command}` : command;

export const rspec: Runner = {
  name: 'rspec',
  worksHidden: true,
  sign: (project) => hasFile(project, /^\.rspec$/) || isIn(project, /\brspec\b|RSpec\./),
  usualCommand: async (directory) => withBundler(directory, 'rspec'),
  headAt: programNamed('rspec'),

  select(call, files) {
    if (files.length === 0 || !files.every((file) => isTestOf('ruby', file))) return null;
    return { remove: plainArguments(call, /^(-[cbw]|--(color|no-color|backtrace|profile|fail-fast))$/), last: files };
  },

  async environment({ folder, env }) {
    const formatter = join(folder, 'agentos_formatter.rb');
    await writeFile(formatter, RSPEC_FORMATTER, { flag: 'wx' });
    const out = ['--format', 'AgentosFormatter', '--out', join(folder, 'report.lines')];
    const options = ['--require', formatter, '--format', 'progress', ...out].map(shellWord).join(' ');
    return { env: { SPEC_OPTS: `${env.SPEC_OPTS ?? ''} ${options}`.trim() } };
  },

  read: readRuby,
};

/** `task default: :test`, `task :default => [:spec]` */
const DEFAULT_TASK = /^task\s+(?:default:|:default\s*=>)\s*\[?\s*:(test|spec)\b/m;

export const minitest = classes('minitest', /\bminitest\b|Minitest::/, /TestTask|Minitest::/);
export const testUnit = classes('test-unit', /\btest[/-]unit\b|Test::Unit/, /TestTask|\btask :test\b/);

/** Runners of test classes. `task` matches a Rakefile that has a task for them. */
function classes(name: 'minitest' | 'test-unit', words: RegExp, task: RegExp): Runner {
  return {
    name,
    worksHidden: true,
    sign: (project) => isIn(project, words),

    async usualCommand(directory, { texts }) {
      const [, byDefault] = DEFAULT_TASK.exec(texts.Rakefile) ?? [];
      if (byDefault !== undefined) return withBundler(directory, `rake ${byDefault}`);
      if (task.test(texts.Rakefile)) return withBundler(directory, 'rake test');
      return withBundler(
        directory,
        `ruby -Ilib -Itest -e 'Dir["./test/**/{*_test,test_*}.rb"].each { |f| require f }'`,
      );
    },

    headAt: (names, at) => (/^(rake|rails)$/.test(names[at] ?? '') && names[at + 1] === 'test' ? at + 1 : null),

    select({ words: given, head }, files) {
      if (files.length === 0 || !files.every((file) => isTestOf('ruby', file))) return null;
      if (given[head - 1]?.text === 'rails') return { last: files };
      return { last: [`TEST=${files.length === 1 ? files[0] : `{${files.join(',')}}`}`] };
    },

    /** A preloaded hook, because Minitest 6 no longer discovers plugins and many projects turn discovery off. */
    async environment({ folder, env }) {
      await writeFile(join(folder, 'agentos_hook.rb'), CLASSES_HOOK, { flag: 'wx' });
      const RUBYLIB = [folder, env.RUBYLIB ?? ''].filter((part) => part !== '').join(delimiter);
      return { env: { RUBYLIB, RUBYOPT: `${env.RUBYOPT ?? ''} -ragentos_hook`.trim() } };
    },

    read: readRuby,
  };
}

const ERROR = /^.*(?:cannot load such file -- |uninitialized constant |\((?:LoadError|NameError|SyntaxError)\)).*$/m;

async function readRuby({ folder, pathInWorktree }: RunPlace, output: RunOutput): Promise<Reading | null> {
  const reading = await linesIn(folder, pathInWorktree);
  if (reading !== null) return withUnexplained(reading, output);
  const text = `${output.stderr}\n${output.stdout}`;
  const found = ERROR.exec(text);
  if (found === null || output.exitCode === 0) return null;
  const file = /(?:^|[\s'"])(\S+?(?:_test|_spec|\/test_\w+)\.rb)\b/.exec(text.slice(found.index))?.[1] ?? '';
  const failure = { file: pathInWorktree(file), message: loadMessage(text.slice(found.index)) };
  return { cases: [], loadFailures: [failure] };
}

export function isRubyMissing({ file, message }: LoadFailure, changes: Changes): boolean | null {
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
  // A file is usually named after the constant that it defines.
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

/** Adds a reporter as soon as Minitest or test-unit is loaded; does nothing in other Ruby processes. */
const CLASSES_HOOK = `require 'json'

module AgentosHook
  def self.write(line)
    File.open(File.join(__dir__, 'report.lines'), 'a') { |file| file.puts JSON.generate(line) }
  end

  def self.minitest(library)
    library.extensions << 'agentos'
    library.define_singleton_method(:plugin_agentos_init) do |_options|
      reporter << Class.new(library::AbstractReporter) do
        def record(result)
          outcome = result.skipped? ? 'skipped' : result.passed? ? 'passed' : 'failed'
          name = result.respond_to?(:klass) ? result.klass : result.class.name
          place = result.respond_to?(:source_location) ? result.source_location : result.method(result.name).source_location
          message = outcome == 'failed' ? result.failures.map { |failure| "#{failure.message}\\n#{failure.location}" }.join("\\n") : nil
          # A spec's number depends on the specs before it.
          AgentosHook.write(file: place && place[0], names: [name, result.name.sub(/\\Atest_\\d{4}_/, '')], outcome: outcome, message: message)
        end

        def report
          AgentosHook.write(end: true)
        end
      end.new
    end
  end

  def self.test_unit(mediator)
    mediator.prepend(Module.new do
      def run
        faults = []
        failed = ->(fault) { fault.is_a?(Test::Unit::Failure) || fault.is_a?(Test::Unit::Error) }
        add_listener(Test::Unit::TestResult::FAULT) { |fault| faults << fault }
        add_listener(Test::Unit::TestCase::FINISHED_OBJECT) do |test|
          own, faults = faults.reject { |fault| fault.is_a?(Test::Unit::Notification) }, []
          outcome = own.empty? ? 'passed' : own.any?(&failed) ? 'failed' : 'skipped'
          place = test.method(test.method_name).source_location
          message = outcome == 'failed' ? own.select(&failed).map(&:long_display).join("\\n") : nil
          # test-unit reports a file that it can't load as a test of a generated class.
          file = message && message[/^LoadError: failed to load <(.+?)>/, 1]
          next AgentosHook.write(file: file, broken: message) if file

          AgentosHook.write(file: place && place[0], names: [test.class.name, test.local_name], outcome: outcome, message: message)
        end
        super
      ensure
        faults.select(&failed).each { |fault| AgentosHook.write(file: nil, broken: fault.long_display) }
        AgentosHook.write(end: true)
      end
    end)
  end
end

added = []
TracePoint.new(:end) do |point|
  found = point.self
  next if !found.is_a?(Module) || added.include?(found.name)

  if found.name == 'Minitest' && found.respond_to?(:extensions) && found.extensions
    added << found.name
    AgentosHook.minitest(found)
  elsif found.name == 'Test::Unit::UI::TestRunnerMediator'
    added << found.name
    AgentosHook.test_unit(found)
  end
end.enable
`;
