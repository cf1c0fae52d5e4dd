// Run by Node: what Claude Code's SDK gives for each transcript below CLAUDE_CONFIG_DIR, a line each. It finds a
// session by its id, so that one whose id several projects have is left out.
import fs from "node:fs";
import path from "node:path";

const [root, sdk] = process.argv.slice(2);
const { getSessionMessages } = await import(sdk);
const projects = path.join(root, "projects");
const folders = fs.existsSync(projects) ? fs.readdirSync(projects).sort() : [];
const files = folders.flatMap((folder) => {
  const at = path.join(projects, folder);
  return fs.statSync(at).isDirectory() ? fs.readdirSync(at).filter((name) => name.endsWith(".jsonl")).map((name) => [folder, name]) : [];
});
for (const [folder, name] of files) {
  if (files.filter(([, other]) => other === name).length > 1) continue;
  const row = { session: `projects/${folder}/${name}`, messages: [], error: null };
  try {
    row.messages = await getSessionMessages(name.slice(0, -".jsonl".length));
  } catch (error) {
    row.error = String(error?.message ?? error);
  }
  process.stdout.write("@@" + JSON.stringify(row) + "\n");
}
