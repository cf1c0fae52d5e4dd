// Run by Node: a turn of OpenClaw's agent in each of many sessions, without its gateway. Sessions come on stdin, a line
// each; a line on stdout says how each ended.
import fs from "node:fs";
import path from "node:path";

const [dist, model] = process.argv.slice(2);
const chunk = fs.readdirSync(dist).find((name) => /^agent-command-.*\.js$/.test(name));
if (!chunk) throw new Error("OpenClaw's agent command was not found");
const command = Object.values(await import(path.join(dist, chunk))).find((value) => value?.name === "agentCommand");
const print = process.stdout.write.bind(process.stdout);
const jobs = fs.readFileSync(0, "utf8").split("\n").filter((line) => line).map((line) => JSON.parse(line));
for (const { session, prompt } of jobs) {
  let said = "";
  const runtime = {
    log() {},
    error: (...words) => (said += words.join(" ")),
    exit: (code) => {
      throw new Error(`exit ${code}`);
    },
    writeJson() {},
    writeStdout() {},
  };
  try {
    await command({ message: prompt, json: true, timeout: "90", model, sessionId: session }, runtime, {});
  } catch (error) {
    said += String(error?.message ?? error);
  }
  print("@@" + JSON.stringify({ session, error: said.slice(-400) || "it said nothing" }) + "\n");
}
// What is still on its way out would be lost.
process.stdout.write("", () => process.exit(0));
