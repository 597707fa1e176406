#!/usr/bin/env node
// JavaScript for Node 20: a linked command starts with the machine's own Node, which may not strip types.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const compiled = join(checkout, '.cache', 'compiled');
const ownNode = join(checkout, 'node_modules', 'node', 'bin', 'node');

// Tells core/commands.ts which command name to print. npx also starts a link, but shells do not find that link.
const isLinked = basename(process.argv[1]) === 'crm-export' && process.env.npm_command !== 'exec';
if (isLinked) process.env.CRM_EXPORT_COMMAND = 'crm-export';
else delete process.env.CRM_EXPORT_COMMAND;

if (!existsSync(ownNode)) {
  process.stderr.write(`The packages of this command are not installed: run npm ci in ${checkout}\n`);
  process.exitCode = 3;
} else if (realpathSync(ownNode) === realpathSync(process.execPath)) {
  // The cache is enabled before other modules are compiled.
  module.enableCompileCache(compiled);
  await import('./main.ts');
} else startByOwnNode();

function startByOwnNode() {
  const program = fileURLToPath(new URL('main.ts', import.meta.url));
  const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
  const isTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const passedAt = {};
  // A terminal sends Ctrl-C to both processes, and npm passes it on again. A second signal would break the orderly end.
  const pass = (signal) => {
    const isRepeated = performance.now() - passedAt[signal] < 2000;
    if (isRepeated || (signal !== 'SIGTERM' && isTerminal)) return;
    passedAt[signal] = performance.now();
    child.kill(signal);
  };
  // The handlers are added before the start, because a signal may come right after it.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass);
  const child = spawn(ownNode, [program, ...process.argv.slice(2)], { stdio: 'inherit', env });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
