// Writes the settings of package.json from settings.schema.json at the repository's root, so that there is one
// list of settings. With --check nothing is written, and a difference is an error.
import { readFileSync, writeFileSync } from 'node:fs';

const PACKAGE = new URL('../package.json', import.meta.url);
const SCHEMA = new URL('../../../settings.schema.json', import.meta.url);

// A folder's .vscode/settings.json may set these only. All others could send the user's key to another server,
// run a program, or let more happen without a question: they have the scope `machine`.
const FOLDER_MAY_SET = new Set(['model', 'background']);

const OMITTED = new Set([
  'trusted_folders', // counts in the user's own file only
  'models', // the same
  'hooks', // the same
  'show_answer', // the extension shows the answer
]);

// The words of a JSON schema that say what fits.
const TYPE_WORDS = new Set(
  ['type', 'enum', 'pattern', 'items', 'minItems', 'minimum', 'maximum', 'properties', 'required', 'additionalProperties']);

// What belongs to the extension and not to the server.
const OWN = {
  'askls.serverPath': {
    type: 'string',
    default: '',
    scope: 'machine',
    markdownDescription: 'The path of the program `askls`. Empty: looked up in `PATH`.',
  },
  'askls.trace.server': {
    type: 'string',
    enum: ['off', 'messages', 'verbose'],
    default: 'off',
    scope: 'window',
    markdownDescription: 'Which messages between VS Code and askls are written to the output channel.',
  },
};

/** A property of package.json for one setting of the schema. */
function property(name, schema) {
  const choices = schema.anyOf?.flatMap((part) => part.oneOf ?? []) ?? [];
  const described = choices.flatMap((choice) =>
    (choice.enum ?? [choice.const]).map((value) => [value, choice.description ?? '']));
  const choice = {
    type: ['string', 'null'],
    enum: [null, ...described.map(([value]) => value)],
    enumDescriptions: ['The default.', ...described.map(([, text]) => text)],
  };
  const plain = Object.entries(schema).filter(([key]) => TYPE_WORDS.has(key));
  const type = described.length > 0 ? choice : Object.fromEntries(plain);
  const isSet = schema.default !== undefined && schema.default !== null;
  const byDefault = isSet ? ` Default: \`${schema.default}\`.` : '';
  return {
    ...type,
    // Only what the user sets is sent, so that the user's own settings file keeps its say.
    default: null,
    scope: FOLDER_MAY_SET.has(name) ? 'window' : 'machine',
    markdownDescription: schema.description.replace(/\s+/g, ' ') + byDefault,
  };
}

const schema = JSON.parse(readFileSync(SCHEMA, 'utf8'));
const names = Object.keys(schema.properties).filter((name) => !OMITTED.has(name));
const properties = { ...OWN };
for (const name of names) properties[`askls.${name}`] = property(name, schema.properties[name]);

const before = readFileSync(PACKAGE, 'utf8');
const manifest = JSON.parse(before);
if (process.argv.includes('--check')) {
  if (JSON.stringify(manifest.contributes.configuration.properties) !== JSON.stringify(properties)) {
    console.error('the settings in editors/vscode/package.json differ from settings.schema.json; run `npm run settings`');
    process.exitCode = 1;
  }
} else {
  manifest.contributes.configuration.properties = properties;
  writeFileSync(PACKAGE, JSON.stringify(manifest, null, 2) + '\n');
}
