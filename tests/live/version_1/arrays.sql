PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE run (
  id integer primary key, began text not null, slots integer not null, objective text not null,
  policy text not null, folder text not null, jobs text not null, lasted real not null default 0,
  status text not null default 'running');
INSERT INTO run VALUES(1,'2026-11-23T20:52:59Z',24,'sum:response','flex','/','[{"name": "1 first", "command": ["true"], "weight": 1.0, "over": {"range": 6}, "min_slots": 0, "user": "me", "program": "first", "after": []}, {"name": "2 second", "command": ["true"], "weight": 2.0, "over": {"range": 5}, "min_slots": 0, "user": "me", "program": "second", "after": []}]',9.9400000000000012789,'stopped');
CREATE TABLE session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
INSERT INTO session VALUES(1,1,'2026-11-23T20:52:59Z',0.0,18271);
CREATE TABLE attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, primary key (run, job, task, attempt)) without rowid;
INSERT INTO attempt VALUES(1,0,0,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,0,1,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,0,2,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,0,3,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,0,4,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,0,5,0,0,8.3057142857142878256,1.6342857142857141194,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,1,0,0,0,8.3707692307692322941,1.5692307692307692068,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,1,1,0,0,8.3707692307692322941,1.5692307692307692068,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,1,2,0,0,8.3707692307692322941,1.5692307692307692068,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,1,3,0,0,8.3707692307692322941,1.5692307692307692068,0.0,0.0,'counted');
INSERT INTO attempt VALUES(1,1,4,0,0,8.3707692307692322941,1.5692307692307692068,0.0,0.0,'counted');
CREATE TABLE decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null);
INSERT INTO decision VALUES(1,0.0,0,6,'its maximum');
INSERT INTO decision VALUES(1,0.0,1,5,'its maximum');
INSERT INTO decision VALUES(1,4.9599999999999999644,0,0,'others come first');
INSERT INTO decision VALUES(1,4.9599999999999999644,1,0,'others come first');
CREATE TABLE flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
CREATE TABLE result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
CREATE TABLE history (
  program text not null, user text not null, tasks integer not null, seconds real not null,
  squares real not null, primary key (program, user)) without rowid;
INSERT INTO history VALUES('first','me',6,2.9472350213780309502,1.4476990452061937464);
INSERT INTO history VALUES('second','me',5,2.2529277169431698446,1.0151366595541526649);
CREATE INDEX decision_of on decision (run, at);
COMMIT;
