// Run by Node: what OpenClaw's own session manager gives for each transcript below a folder, a line each.
// Its package has no entry for it: the class is found in the chunk that holds it.
import fs from "node:fs";
import path from "node:path";

const [root, dist] = process.argv.slice(2);
const chunks = fs.readdirSync(dist).filter((name) => name.startsWith("session-manager-") && name.endsWith(".js"));
const chunk = chunks.find((name) => fs.readFileSync(path.join(dist, name), "utf8").includes("class SessionManager"));
if (!chunk) throw new Error("OpenClaw's session manager was not found: its loader has changed");
const SessionManager = Object.values(await import(path.join(dist, chunk))).find((value) => value?.name === "SessionManager");
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
// What is still on its way out would be lost.
process.stdout.write("", () => process.exit(0));
