import { readFileSync } from 'node:fs';
import wabt from 'wabt';

/** What `core/files/kernel/kernel-bytes.ts` has to be: kernel.wat, assembled. */
export async function kernelBytes(): Promise<string> {
  const { parseWat } = await wabt();
  const source = readFileSync('core/files/kernel/kernel.wat', 'utf8');
  const module = parseWat('kernel.wat', source, { simd: true });
  module.validate();
  const base64 = Buffer.from(module.toBinary({}).buffer).toString('base64');
  const lines = base64.match(/.{1,114}/g) ?? [];
  const text = lines.map((line) => `  '${line}'`).join(' +\n');
  return `/** kernel.wat as WebAssembly, in base64. Written by \`npm run generate\`. */\nexport const KERNEL =\n${text};\n`;
}
