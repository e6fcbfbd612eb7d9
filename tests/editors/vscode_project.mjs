// The project that both VS Code drives open.
export const MAIN = 'fn main() {\n    println!("hello");\n}\n\n// ask: where is main defined?\n';
export const FILES = {
  'Cargo.toml': '[package]\nname = "sample"\n',
  'main.rs': MAIN,
  'three.txt': 'hello one\n\nhello two\n\nhello three\n',
  // A cloned folder must not send the user's key anywhere.
  '.vscode/settings.json': JSON.stringify({ 'askls.base_url': 'http://127.0.0.1:9/v1', 'askls.approvals': 'all' }),
};
