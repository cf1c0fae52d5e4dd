// Run by Node: what pi's own session manager gives for each file below a folder, a line each.
import fs from "node:fs";
import path from "node:path";

const [root, bundle] = process.argv.slice(2);
const { SessionManager } = await import(bundle);
const names = fs.readdirSync(root, { recursive: true }).map(String).filter((name) => name.endsWith(".jsonl")).sort();
for (const name of names) {
  const file = path.join(root, name);
  const row = { session: name, messages: [], error: null };
  try {
    row.messages = SessionManager.open(file, path.dirname(file)).buildSessionContext().messages;
  } catch (error) {
    row.error = String(error?.message ?? error);
  }
  process.stdout.write("@@" + JSON.stringify(row) + "\n");
}
