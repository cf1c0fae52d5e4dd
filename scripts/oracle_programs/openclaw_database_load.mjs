// Run by Node: what OpenClaw's own session manager gives for each window of the databases below a folder, a line each.
// Its package has no entry for it: the class is found in the chunk that holds it.
import fs from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const [root, dist] = process.argv.slice(2);
const chunks = fs.readdirSync(dist).filter((name) => /^session-manager-.*\.m?js$/.test(name));
const chunk = chunks.find((name) => fs.readFileSync(path.join(dist, name), "utf8").includes("static async openAsync("));
if (!chunk) throw new Error("OpenClaw's session manager was not found: its loader has changed");
const SessionManager = Object.values(await import(path.join(dist, chunk))).find((value) => value?.name === "SessionManager");
const print = process.stdout.write.bind(process.stdout);
const names = fs.readdirSync(root, { recursive: true }).map(String).filter((name) => name.endsWith("openclaw-agent.sqlite")).sort();
for (const name of names) {
  const file = path.join(root, name);
  const tables = new DatabaseSync(file, { readOnly: true });
  const windows = tables.prepare("SELECT session_id, session_key FROM session_windows ORDER BY session_id").all();
  tables.close();
  const agent = path.dirname(path.dirname(file));
  const storePath = path.join(agent, "sessions", "sessions.json");
  for (const { session_id: sessionId, session_key: sessionKey } of windows) {
    const row = { session: `${name}/${encodeURIComponent(sessionId)}`, messages: [], error: null };
    try {
      const target = { agentId: path.basename(agent), sessionKey, sessionId, storePath };
      row.messages = (await SessionManager.openAsync(target)).buildSessionContext().messages;
    } catch (error) {
      row.error = String(error?.message ?? error);
    }
    print("@@" + JSON.stringify(row) + "\n");
  }
}
// What is still on its way out would be lost.
process.stdout.write("", () => process.exit(0));
